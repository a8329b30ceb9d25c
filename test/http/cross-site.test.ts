// What pages of other sites can do with the cookie of somebody who is signed in: nothing.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { Browser, engines, started, startOAuthProvider, startTestService } from '#test/harness/index.ts'
import { signIn, spa, whoAmI } from '../login/harness.ts'

interface Document {
  paths: Record<string, Record<string, { security?: Record<string, unknown>[] }>>
}

/** What a browser sends with a call that a foreign page makes it do. */
const foreign: Record<string, string>[] = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', 'sec-fetch-mode': 'no-cors' },
  { 'sec-fetch-site': 'cross-site', origin: 'null' },
  { 'sec-fetch-site': 'none', origin: 'https://evil.example' },
  { referer: 'https://evil.example/page' },
  { referer: 'about:blank' },
  { referer: 'no address' },
]

/** Calls that no credential guards, and what keeps them from being of use to a foreign page. */
const publicWrites: Record<string, { why: string; status: number }> = {
  'POST /portal/session': { why: 'refuses foreign pages by itself; the link is the credential', status: 403 },
  'POST /auth/token': { why: 'reads no cookie; a code or refresh token is the credential', status: 400 },
  'POST /auth/{provider}/token': {
    why: 'reads no cookie; an id_token with its nonce is the credential',
    status: 400,
  },
  'POST /login/offer': {
    why: 'finds no offer without the cookie of its flow, which is SameSite=Lax',
    status: 400,
  },
  'POST /oauth2/token': { why: 'reads no cookie; a code or refresh token is the credential', status: 400 },
  'POST /oauth2/par': { why: 'reads no cookie; the client authenticates', status: 400 },
  'POST /oauth2/introspect': { why: 'reads no cookie; the client authenticates', status: 400 },
  'POST /oauth2/revoke': { why: 'reads no cookie; the client authenticates', status: 400 },
  'POST /oauth2/device_authorization': { why: 'reads no cookie; the client authenticates', status: 400 },
  'POST /oauth2/end-session': { why: 'reads no cookie; only leads on to the GET', status: 303 },
  'POST /oauth2/userinfo': { why: 'reads no cookie; an access token is the credential', status: 401 },
  'POST /oauth2/authorize': { why: 'reads no cookie; only leads on to the GET', status: 415 },
  'POST /webhooks/provider': { why: 'reads no cookie; the signature is the credential', status: 401 },
  'POST /auth/{provider}/callback': { why: 'only leads on to the GET, which the state guards', status: 400 },
}

/** What pages of any origin may read. */
const readable = new Set([
  '/.well-known/jwks.json',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/oauth2/userinfo',
])

describe('cross-site calls', () => {
  let document: Document
  let browser: Browser
  let cookie: string
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const env = { ...provider.env('ACME'), ADMIN_IDENTITIES: 'acme:boss' }
    return startTestService(engines[0]!, { env, config: { login: { clients: [spa] } } })
  })
  before(async () => {
    document = (await (await service.fetch('/openapi.json')).json()) as Document
    browser = new Browser()
    provider.profile = { id: 'boss', displayName: 'boss' }
    await signIn(service, browser)
    const cookies = [...browser.cookies(service.baseUrl)].map(([name, value]) => `${name}=${value}`)
    cookie = [...cookies, await portalCookie()].join('; ')
  })

  /** Of somebody who is in the portal as well. */
  const portalCookie = async (): Promise<string> => {
    const made = await service.admin('/portal-links', { method: 'POST', json: { owner: 'acme' } })
    const { url } = (await made.json()) as { url: string }
    const opened = await service.admin('/portal/session', {
      method: 'POST',
      json: { token: url.split('#')[1] },
    })
    return opened.headers.getSetCookie()[0]!.split(';')[0]!
  }
  const operations = (): [method: string, path: string, open: boolean][] =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { security = [] }]): [string, string, boolean] => [
        method.toUpperCase(),
        path,
        security.length === 0,
      ]),
    )
  const call = (method: string, path: string, headers: Record<string, string>): Promise<Response> => {
    const address = path.replace('{provider}', 'acme').replaceAll(/\{\w+\}/g, '1')
    return fetch(new URL(address, service.baseUrl), {
      method,
      redirect: 'manual',
      headers: { cookie, 'content-type': 'application/json', ...headers },
      ...(method !== 'GET' && { body: '{}' }),
    })
  }
  const isWrite = ([method]: [string, ...unknown[]]): boolean => method !== 'GET'

  test('every call that changes data is refused with a foreign Origin or Sec-Fetch-Site', async () => {
    const writes = operations().filter(isWrite)
    assert.ok(writes.length > 20)
    const guarded = writes.filter(([, , open]) => !open)
    for (const [index, [method, path]] of guarded.entries()) {
      // One guard serves all routes: the first one gets every form of a foreign call, each other one a single form.
      for (const headers of index === 0 ? foreign : [foreign[index % foreign.length]!]) {
        const response = await call(method, path, headers)
        const name = `${method} ${path} with ${JSON.stringify(headers)}`
        assert.equal(response.status, 403, name)
        assert.equal(((await response.json()) as { code: string }).code, 'foreign-origin', name)
      }
    }
    assert.equal((await whoAmI(service, browser))?.role, 'admin', 'nothing happened to the session')
  })

  test('the exceptions are listed and do not use the cookie', async () => {
    const open = operations()
      .filter(isWrite)
      .filter(([, , isOpen]) => isOpen)
    for (const [method, path] of open) {
      const known = publicWrites[`${method} ${path}`]
      assert.ok(known, `${method} ${path} changes something and is open: say here why that is right`)
      for (const headers of foreign) {
        const response = await call(method, path, headers)
        assert.equal(response.status, known.status, `${method} ${path}`)
        assert.equal(response.headers.get('set-cookie'), null)
      }
    }
    assert.ok(await whoAmI(service, browser))
  })

  test('a form of another site, which has no cookie, signs nobody out', async () => {
    const logout = (headers: Record<string, string>): Promise<Response> =>
      fetch(new URL('/auth/logout', service.baseUrl), {
        method: 'POST',
        redirect: 'manual',
        headers: { accept: 'text/html', ...headers },
        body: new URLSearchParams(),
      })
    for (const headers of foreign) {
      const response = await logout(headers)
      assert.equal(response.status, 401, JSON.stringify(headers))
      assert.equal(response.headers.get('set-cookie'), null)
      assert.equal(response.headers.get('location'), null)
    }
    // A browser of old says nothing of where the form was: what it keeps back is not deleted all the same.
    const silent = await logout({})
    assert.equal(silent.status, 303)
    assert.equal(silent.headers.get('set-cookie'), null)
    // Our own form, sent after the session has ended: the cookie goes.
    const over = await logout({ origin: service.baseUrl, cookie: `postern_session=${'A'.repeat(43)}` })
    assert.equal(over.status, 303)
    assert.match(over.headers.get('set-cookie')!, /^postern_session=; Max-Age=0/)
    assert.ok(await whoAmI(service, browser))
  })

  test('pages of the service may', async () => {
    for (const headers of [
      { origin: service.baseUrl },
      { origin: service.baseUrl, 'sec-fetch-site': 'same-origin' },
      { origin: 'null', 'sec-fetch-site': 'same-origin' },
      { referer: `${service.baseUrl}/dashboard` },
      {},
    ] as Record<string, string>[]) {
      const response = await call('PATCH', '/users/{id}', headers)
      assert.equal(response.status, 400, 'past the guard, to the body')
    }
  })

  test('an API key may be used from any origin', async () => {
    const response = await service.admin('/users/1', {
      method: 'PATCH',
      json: {},
      headers: { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' },
    })
    assert.equal(response.status, 400)
  })

  test('pages of other sites can read only what is public, and what a token of theirs gives', async () => {
    for (const [method, path] of operations().filter((operation) => !isWrite(operation))) {
      const response = await call(method, path, { origin: 'https://evil.example' })
      await response.arrayBuffer()
      const allowed = response.headers.get('access-control-allow-origin')
      assert.equal(allowed, readable.has(path) ? '*' : null, `${method} ${path}`)
      assert.equal(response.headers.get('access-control-allow-credentials'), null)
    }
  })
})
