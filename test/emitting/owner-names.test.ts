// Customers have an optional display name, which pages and the portal show.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, started, fields } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { dataOf, expectJson, startEmitting } from './harness.ts'
import { enterPortal } from './portal-harness.ts'

type Owners = AnswerTo<'GET /owners'>

onEachEngine('display names of customers', (engine) => {
  const service = started(() => startEmitting(engine))

  const name = (owner: string, to: string | null, status = 200) =>
    expectJson(service, status, `/owners/${encodeURIComponent(owner)}`, { method: 'PUT', json: { name: to } })
  const list = async (query = ''): Promise<Owners> =>
    await expectJson<Owners>(service, 200, `/owners${query}`)
  const pairs = ({ data }: Owners) => data.map(({ owner, name }) => [owner, name])

  test('a customer with a name is listed before it has an endpoint, and found by either', async () => {
    for (const owner of ['acme', 'initech', 'umbrella'])
      await expectJson(service, 201, '/subscribers', {
        method: 'POST',
        json: { url: 'https://example.com/hook', owner },
      })
    assert.deepEqual(await name('globex', 'Globex Corporation'), {
      owner: 'globex',
      name: 'Globex Corporation',
      metadata: {},
    })
    await name('acme', 'Wile E. Coyote & Söhne')
    const all = [
      ['acme', 'Wile E. Coyote & Söhne'],
      ['globex', 'Globex Corporation'],
      ['initech', null],
      ['umbrella', null],
    ]
    assert.deepEqual(pairs(await list()), all)
    assert.deepEqual(pairs(await list('?q=COYOTE')), [all[0]])
    assert.deepEqual(pairs(await list('?q=e')), [all[0], all[1], all[2], all[3]])
    assert.deepEqual(pairs(await list('?q=init')), [all[2]])
    const first = await list('?limit=3')
    assert.deepEqual(pairs(first), all.slice(0, 3))
    assert.deepEqual(pairs(await list(`?limit=3&cursor=${first.pageInfo.nextCursor}`)), all.slice(3))
    const data = await dataOf<{ kind: string; id: string; title: string }>(service, '/search?q=coyote')
    assert.deepEqual(fields(data, 'kind', 'id', 'title'), [['customer', 'acme', 'Wile E. Coyote & Söhne']])
  })

  test('endpoints, deliveries and the portal show it', async () => {
    const own = await dataOf<{ id: string; ownerName: string }>(service, '/subscribers?owner=acme')
    assert.equal(own[0]!.ownerName, 'Wile E. Coyote & Söhne')
    await expectJson(service, 202, `/subscribers/${own[0]!.id}/test`, { method: 'POST' })
    const sent = await dataOf<{ id: number; ownerName: string }>(service, '/deliveries?owner=acme')
    assert.equal(sent[0]!.ownerName, 'Wile E. Coyote & Söhne')
    const one = await expectJson<{ ownerName: string }>(service, 200, `/deliveries/${sent[0]!.id}`)
    assert.equal(one.ownerName, 'Wile E. Coyote & Söhne')
    const portal = await enterPortal(service, 'acme')
    const session = await portal.json<{ owner: string; name: string }>(200, 'GET', '/session')
    assert.deepEqual([session.owner, session.name], ['acme', 'Wile E. Coyote & Söhne'])
  })

  test('a link to the portal sets it; null removes it; each change is audited once', async () => {
    const json = { owner: 'initech', name: 'Initech' }
    for (let times = 0; times < 2; times++)
      await expectJson(service, 201, '/portal-links', { method: 'POST', json })
    const nameOf = async (owner: string) =>
      (await expectJson<{ name: string | null }>(service, 200, `/owners/${owner}`)).name
    assert.equal(await nameOf('initech'), 'Initech')
    await name('initech', null)
    await name('initech', null)
    await name('globex', null)
    assert.equal(await nameOf('initech'), null)
    assert.equal(await nameOf('globex'), null)
    const data = await dataOf<{ target: string }>(service, '/audit?action=owner.named')
    const targets = ['owner:acme', 'owner:globex', 'owner:globex', 'owner:initech', 'owner:initech']
    assert.deepEqual(data.map(({ target }) => target).toSorted(), targets)
  })

  test('metadata stays unless it is sent, and its size is limited', async () => {
    const put = (json: object, status = 200) =>
      expectJson<{ name: string; metadata: object }>(service, status, '/owners/umbrella', {
        method: 'PUT',
        json,
      })
    const metadata = { plan: 'gold', ' \0ü': '' }
    assert.deepEqual((await put({ name: 'U', metadata })).metadata, metadata)
    assert.deepEqual((await put({ name: 'Umbrella' })).metadata, metadata)
    const shown = await expectJson<{ uid: string; metadata: object }>(service, 200, '/owners/umbrella')
    assert.deepEqual([shown.uid, shown.metadata], ['umbrella', metadata])
    await put({ name: 'U', metadata: { a: 'ü'.repeat(2044) } })
    await put({ name: 'U', metadata: { a: 'ü'.repeat(2045) } }, 400)
    await put({ name: 'U', metadata: { a: 1 } }, 400)
    assert.deepEqual(await put({ name: 'U', metadata: null }), { owner: 'umbrella', name: 'U', metadata: {} })
    const changes = await dataOf<{ detail: object }>(service, '/audit?action=owner.changed')
    assert.deepEqual(changes[0]!.detail, { fields: 'metadata' })
  })

  test('a removed customer loses its endpoints and portal access, and can be created again', async () => {
    const portal = await enterPortal(service, 'initech')
    await portal.json(200, 'GET', '/session')
    const { id } = (await dataOf<{ id: string }>(service, '/subscribers?owner=initech'))[0]!
    for (let more = 0; more < 60; more++)
      await expectJson(service, 201, '/subscribers', {
        method: 'POST',
        json: { url: 'https://example.com/hook', owner: 'initech' },
      })
    await expectJson(service, 204, '/owners/initech', { method: 'DELETE' })
    await expectJson(service, 404, '/owners/initech')
    await expectJson(service, 404, '/owners/initech', { method: 'DELETE' })
    await expectJson(service, 404, `/subscribers/${id}`)
    assert.deepEqual(await dataOf(service, '/subscribers?owner=initech'), [])
    await portal.json(401, 'GET', '/session')
    assert.equal((await dataOf(service, '/audit?action=owner.deleted')).length, 1)
    await expectJson(service, 201, '/subscribers', {
      method: 'POST',
      json: { url: 'https://example.com/hook', owner: 'initech' },
    })
    assert.deepEqual(pairs(await list('?q=initech')), [['initech', null]])
  })

  test('a name that the databases cannot store, an empty one and a foreign field are rejected', async () => {
    for (const bad of ['', '\ud800', 'a\0b', 'a'.repeat(101)]) await name('acme', bad, 400)
    await name('*', 'All', 400)
    await expectJson(service, 400, '/owners/acme', { method: 'PUT', json: { name: 'a', other: 1 } })
    await expectJson(service, 400, '/owners/acme', { method: 'PUT', json: {} })
  })
})
