// Each owner's portal may have a name, a colour and a logo of its own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, started } from '../harness/index.ts'
import { dataOf, expectJson, startEmitting } from './harness.ts'
import { enterPortal } from './portal-harness.ts'

const logo = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')}`
const brand = { name: 'Acme hooks', color: '#7a3cff', logo }
const none = { name: null, color: null, logo: null }

interface Session {
  brand: { name: string | null; logo: string | null; variables: Record<string, string> | null }
}

onEachEngine('brands of owners', (engine) => {
  const service = started(() => startEmitting(engine))

  const read = (owner: string) => expectJson(service, 200, `/owners/${encodeURIComponent(owner)}/brand`)
  const change = (owner: string, json: object, status = 200) =>
    expectJson(service, status, `/owners/${encodeURIComponent(owner)}/brand`, { method: 'PATCH', json })

  test('an owner without one has that of the installation', async () => {
    assert.deepEqual(await read('acme'), none)
    const { brand: shown } = await (await enterPortal(service, 'acme')).json<Session>(200, 'GET', '/session')
    assert.deepEqual(shown, { name: null, logo: null, variables: null })
  })

  test('a name that the databases cannot store is refused', async () => {
    for (const name of ['\ud800', 'Acme \udc00', 'a\0b']) await change('initech', { name }, 400)
  })

  test('it is stored, audited, and shown in this portal only', async () => {
    assert.deepEqual(await change('acme', brand), brand)
    assert.deepEqual(await read('acme'), brand)
    assert.deepEqual(await read('globex/eu'), none)
    const { brand: shown } = await (await enterPortal(service, 'acme')).json<Session>(200, 'GET', '/session')
    assert.equal(shown.name, brand.name)
    assert.equal(shown.logo, logo)
    // Light and dark: the colour has the contrast of texts on either ground.
    assert.match(shown.variables!['--color-accent']!, /^light-dark\(#[\da-f]{6},#[\da-f]{6}\)$/)
    const other = await (await enterPortal(service, 'globex/eu')).json<Session>(200, 'GET', '/session')
    assert.equal(other.brand.name, null)
    const path = '/audit?action=portal.brand_changed'
    const data = await dataOf<{ target: string; detail: { fields: string } }>(service, path)
    assert.deepEqual(
      data.map(({ target, detail }) => [target, detail.fields]),
      [['owner:acme', 'name color logo']],
    )
  })

  test('the page has it for the owner who is signed in; strangers, other owners and frames do not see it', async () => {
    const { cookie } = await enterPortal(service, 'acme')
    const other = await enterPortal(service, 'globex/eu')
    const page = async (headers: Record<string, string>): Promise<string> => {
      const response = await service.fetch('/portal', { headers })
      assert.equal(response.headers.get('cache-control'), 'no-store')
      return response.text()
    }
    // The data of the page, where it is built.
    const shown = (text: string): boolean => text.includes('Acme hooks') && text.includes(logo)
    const own = await page({ cookie, 'sec-fetch-dest': 'document' })
    assert.equal(shown(own), own.includes('id="boot"'))
    assert.equal(shown(await page({ cookie })), shown(own))
    for (const headers of [
      {},
      { cookie: other.cookie },
      { cookie: cookie.replace(/.{5}$/, 'AAAAA') },
      { cookie, 'sec-fetch-dest': 'iframe' },
    ])
      assert.ok(!(await page(headers)).includes('Acme hooks'))
  })

  test('a change keeps what it does not name; without a value the row is gone', async () => {
    assert.deepEqual(await change('acme', { color: null }), { ...brand, color: null })
    assert.deepEqual(await change('acme', { name: null, logo: null }), none)
    const rows = await service.database.reader.selectFrom('owner_brands').selectAll().execute()
    assert.deepEqual(rows, [])
  })

  test('what a browser could run, or what is no colour or image, is refused', async () => {
    for (const json of [
      { color: 'red' },
      { color: '#fff' },
      { name: '' },
      { name: 'a'.repeat(61) },
      { logo: 'https://example.com/logo.png' },
      { logo: 'data:text/html;base64,AAAA' },
      { logo: 'data:image/png;base64,"><script>' },
      { logo: `data:image/png;base64,${'A'.repeat(90_001)}` },
      { other: 1 },
    ])
      await change('acme', json, 400)
    await change('*', brand, 400)
    assert.deepEqual(await read('acme'), none)
  })

  test('owners cannot change it; a key needs the scope', async () => {
    const owner = await enterPortal(service, 'acme')
    const answer = await service.fetch('/owners/acme/brand', {
      method: 'PATCH',
      headers: { cookie: owner.cookie, 'content-type': 'application/json' },
      body: JSON.stringify(brand),
    })
    assert.equal(answer.status, 401)
    const { key } = await expectJson<{ key: string }>(service, 201, '/keys', {
      method: 'POST',
      json: { name: 'reads', scopes: ['subscribers:read'] },
    })
    const withKey = await service.fetch('/owners/acme/brand', {
      method: 'PATCH',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(brand),
    })
    assert.equal(withKey.status, 403)
  })
})
