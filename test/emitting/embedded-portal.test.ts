// The portal in a frame of another application: docs/adr/0048-embedded-portal.md.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEachEngine, type TestService } from '../harness/index.ts'
import { expectJson, startEmitting, subscribe } from './harness.ts'
import { enterPortal, makeLink } from './portal-harness.ts'

const app = 'https://app.example.com'

onEachEngine('the embedded portal', (engine) => {
  let service: TestService
  let closed: TestService
  before(async () => {
    ;[service, closed] = await Promise.all([
      startEmitting(engine, { env: { PORTAL_FRAME_ORIGINS: `${app},https://other.example.com` } }),
      startEmitting(engine),
    ])
  })
  after(() => Promise.all([service.close(), closed.close()]))

  const open = (at: TestService, link: string, headers: Record<string, string> = {}): Promise<Response> =>
    at.fetch('/portal/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ token: link.split('#')[1], embedded: true }),
    })
  const enter = async (owner: string): Promise<string> => {
    const response = await open(service, await makeLink(service, owner))
    assert.equal(response.status, 200)
    assert.deepEqual(response.headers.getSetCookie(), [], 'a frame sets no cookie')
    return ((await response.json()) as { accessToken: string }).accessToken
  }
  const call = (token: string, path: string, init: RequestInit = {}): Promise<Response> =>
    service.fetch(`/portal${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) },
    })
  const ancestors = (response: Response): string | undefined =>
    /frame-ancestors ([^;]*)/.exec(response.headers.get('content-security-policy')!)?.[1]

  test('only the page of the portal may be framed, by the origins of the setting', async () => {
    assert.equal(ancestors(await service.fetch('/portal')), `${app} https://other.example.com`)
    for (const path of ['/login', '/dashboard', '/docs', '/nope', '/device'])
      assert.equal(ancestors(await service.fetch(path, { headers: { accept: 'text/html' } })), "'none'", path)
    assert.equal(ancestors(await closed.fetch('/portal')), "'none'", 'nobody may, without the setting')
  })

  test('a link opens a session without a cookie, once', async () => {
    const link = await makeLink(service, 'acme')
    const response = await open(service, link)
    const { accessToken, owner } = (await response.json()) as { accessToken: string; owner: string }
    assert.equal(owner, 'acme')
    assert.equal((await call(accessToken, '/session')).status, 200)
    assert.equal((await open(service, link)).status, 401, 'the link is used up')
  })

  test('without the setting, no link opens a session without a cookie, and stays valid', async () => {
    const link = await makeLink(closed, 'acme')
    assert.equal((await open(closed, link)).status, 403)
    const response = await closed.fetch('/portal/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: link.split('#')[1] }),
    })
    assert.equal(response.status, 200)
    assert.equal(((await response.json()) as { accessToken?: string }).accessToken, undefined)
  })

  test("a token reaches its owner's data only, and nothing outside the portal", async () => {
    const [ours, theirs] = await Promise.all([enter('acme'), enter('globex')])
    const { id } = await subscribe(service, { url: 'http://127.0.0.1:9/of-globex', owner: 'globex' })
    assert.equal((await call(theirs, `/subscribers/${id}`)).status, 200)
    for (const [method, path] of [
      ['GET', `/subscribers/${id}`],
      ['GET', `/subscribers/${id}/deliveries`],
      ['PATCH', `/subscribers/${id}`],
      ['DELETE', `/subscribers/${id}`],
      ['POST', `/subscribers/${id}/rotate-secret`],
    ] as const) {
      const json = method === 'PATCH' || method === 'POST'
      const init = { method, ...(json && { body: '{}', headers: { 'content-type': 'application/json' } }) }
      assert.equal((await call(ours, path, init)).status, 404, `${method} ${path}`)
    }
    const authorization = `Bearer ${ours}`
    for (const path of ['/subscribers', '/auth/session', '/audit', '/keys', '/lists'])
      assert.equal((await service.fetch(path, { headers: { authorization } })).status, 401, path)
  })

  test('a call with a wrong token does not fall back to the cookie', async () => {
    const { cookie } = await enterPortal(service, 'globex')
    for (const wrong of [`pt_${'x'.repeat(43)}`, `pt_${cookie.split('=')[1]!}`])
      assert.equal((await call(wrong, '/session', { headers: { cookie } })).status, 401)
    assert.equal((await call(cookie.split('=')[1]!, '/session')).status, 401, 'a cookie is no token')
    const ours = await enter('acme')
    const session = await call(ours, '/session', { headers: { cookie } })
    assert.equal(((await session.json()) as { owner: string }).owner, 'acme')
  })

  test('a frame leaves the session of another tab alone', async () => {
    const { cookie } = await enterPortal(service, 'globex')
    const response = await open(service, await makeLink(service, 'acme'), { cookie })
    assert.equal(response.status, 200)
    assert.equal((await service.fetch('/portal/session', { headers: { cookie } })).status, 200)
    const { accessToken } = (await response.json()) as { accessToken: string }
    assert.equal((await call(accessToken, '/session', { method: 'DELETE' })).status, 204)
    assert.equal((await call(accessToken, '/session')).status, 401)
    assert.equal((await service.fetch('/portal/session', { headers: { cookie } })).status, 200)
  })

  test('the pages of the origins cannot make calls themselves: only the frame can', async () => {
    const link = await makeLink(service, 'acme')
    const fromApp = { origin: app, 'sec-fetch-site': 'cross-site' }
    assert.equal((await open(service, link, fromApp)).status, 403)
    const token = await enter('acme')
    const response = await call(token, '/session', { method: 'DELETE', headers: fromApp })
    assert.equal(response.status, 403)
    assert.equal(response.headers.get('access-control-allow-origin'), null)
  })

  test('revoking ends the sessions of frames too', async () => {
    const token = await enter('initech')
    await expectJson(service, 204, '/portal-links?owner=initech', { method: 'DELETE' })
    assert.equal((await call(token, '/session')).status, 401)
  })
})
