// Programs at guarded applications: access tokens, API keys, methods in rules and CORS preflights.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { adminKey, onEachEngine, onOneEngine } from '#test/harness/index.ts'
import { nextMinute } from '#test/harness/minute.ts'
import { plainRequest, type PlainAnswer } from '#test/harness/plain-request.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { whoAmI } from '../login/harness.ts'
import { callback, secret, token, tokensOf } from '../oauth2/harness.ts'
import { asPage, GuardedSite, passedOf, type ProxiedBrowser } from './harness.ts'

const api = 'api.example.com'
const wiki = 'wiki.example.com'
const spa = 'https://spa.example'
const scopes = ['api:read', 'api:write']
const read = { scopes: ['api:read'] }
const write = { scopes }

onOneEngine('programs at guarded applications', (engine) => {
  const cors = { origins: [spa] }
  const site = new GuardedSite(
    engine,
    (own) => ({
      hosts: {
        [own]: { allow: 'signed-in', programs: read },
        [api]: {
          allow: 'signed-in',
          programs: read,
          token: true,
          resource: { path: '/mcp', scopes },
          cors,
          paths: {
            '/health': 'everyone',
            '/people/*': 'signed-in',
            '/orders/*': [
              { methods: ['GET'], allow: 'signed-in', programs: read, cors },
              {
                methods: ['POST'],
                allow: 'signed-in',
                programs: write,
                cors: { ...cors, credentials: true },
              },
              { methods: ['DELETE'], allow: { roles: ['admin'] }, programs: write },
            ],
            '/ada/*': { allow: { identities: ['acme:ada'] }, programs: read },
            '/legacy/*': { allow: 'signed-in', cors: 'application' },
            '/open/*': { allow: 'signed-in', cors: { origins: ['*'] } },
          },
        },
        [wiki]: { allow: 'signed-in' },
      },
    }),
    {},
    [
      {
        id: 'web',
        secret,
        redirectUris: [callback],
        scopes: ['openid', ...scopes],
        audience: `http://${api}`,
        audiences: [`http://${api}/mcp`, `http://${wiki}`],
      },
      { id: 'machine', secret, clientCredentials: true, scopes, audience: `http://${api}` },
    ],
  )

  const bearer = (credential: unknown) => ({ authorization: `Bearer ${String(credential)}` })
  const ask = (credential: unknown, uri = '/', { method = 'GET', host = api, headers = {} } = {}) =>
    site.ask(undefined, host, uri, { method, headers: { ...bearer(credential), ...headers } })
  const userTokens = (browser: ProxiedBrowser, scope = 'openid api:read', more = {}) =>
    tokensOf(site.service, browser, { client_id: 'web', scope, provider: 'acme', ...more })
  async function machineToken(scope = 'api:read'): Promise<string> {
    const grant = { grant_type: 'client_credentials', client_id: 'machine', client_secret: secret }
    return String((await token(site.service, { ...grant, scope })).body['access_token'])
  }
  const newKey = (...granted: string[]) => keyUntil(undefined, granted)
  async function keyUntil(expiresAt: string | undefined, granted: string[]) {
    const json = { name: 'program', scopes: granted, expiresAt }
    const answer = await site.service.admin('/keys', { method: 'POST', json })
    assert.equal(answer.status, 201, await answer.clone().text())
    return (await answer.json()) as { id: string; key: string }
  }
  async function assertRefused(answer: Promise<Response>, status: number, challenge: RegExp): Promise<void> {
    const { status: got, headers } = await answer
    assert.equal(got, status)
    assert.match(headers.get('www-authenticate') ?? '', challenge)
    for (const name of ['remote-user', 'remote-client', 'remote-token']) assert.equal(headers.get(name), null)
  }

  test("a user's access token passes, and the application gets the user, the app and its scopes", async () => {
    const browser = await site.signedIn('tess', { displayName: 'Tess' })
    const { id } = (await whoAmI(site.service, browser))!
    const { access_token: credential } = await userTokens(browser)
    const { status, headers } = await ask(credential)
    assert.equal(status, 204)
    assert.deepEqual(
      ['user', 'name', 'client', 'scope'].map((name) => headers.get(`remote-${name}`)),
      [id, 'Tess', 'web', 'openid api:read'],
    )
    // With it, the application could act as the program.
    assert.equal(headers.get('authorization'), 'Postern removed')
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', site.service.baseUrl))
    const { payload } = await jwtVerify(headers.get('remote-token')!, keys, {
      audience: `http://${api}`,
      typ: 'forward-auth+jwt',
    })
    assert.partialDeepStrictEqual(payload, { sub: id, client_id: 'web', scope: 'openid api:read' })
    // A token for the metadata's resource, too.
    const forMcp = await userTokens(browser, 'api:read', { resource: `http://${api}/mcp` })
    assert.equal((await ask(forMcp['access_token'], '/mcp', { method: 'POST' })).status, 204)
  })

  test('an app without a user, and an API key, pass with the scopes', async () => {
    const { id, key } = await newKey('api:read')
    for (const [credential, user, client] of [
      [await machineToken(), 'app:machine', 'machine'],
      [key, `key:${id}`, `key:${id}`],
    ] as const) {
      const { status, headers } = await ask(credential)
      assert.equal(status, 204)
      assert.deepEqual(
        ['user', 'client', 'scope', 'email'].map((name) => headers.get(`remote-${name}`)),
        [user, client, 'api:read', ''],
      )
      assert.equal(decodeJwt(headers.get('remote-token')!).sub, user)
    }
    assert.equal((await ask(adminKey)).status, 204)
    // An application's scope gives no rights at the service.
    assert.equal((await site.service.fetch('/keys', { headers: bearer(key) })).status, 403)
    const { applicationScopes } = (await (
      await site.service.admin('/keys?limit=1')
    ).json()) as AnswerTo<'GET /keys'>
    assert.deepEqual(applicationScopes, [
      { scope: 'api:read', hosts: [site.ownHost, api] },
      { scope: 'api:write', hosts: [api] },
    ])
    const unknown = { method: 'POST', json: { name: 'x', scopes: ['api:delete'] } }
    assert.equal((await site.service.admin('/keys', unknown)).status, 400)
  })

  test('a token for another API, one of this service and a token of another kind are invalid', async () => {
    const browser = await site.signedIn('audience')
    const elsewhere = await userTokens(browser, 'openid api:read', { resource: `http://${wiki}` })
    const here = await userTokens(browser)
    const { headers } = await ask(here['access_token'])
    const tampered = String(here['access_token']).replace(/\.[^.]+$/, '.AAAA')
    const unsigned = `${String(here['access_token']).split('.').slice(0, 2).join('.')}.`
    for (const credential of [
      elsewhere['access_token'],
      here['id_token'],
      here['refresh_token'],
      headers.get('remote-token'),
      tampered,
      unsigned,
      'pk_unknown',
      'a b',
      '',
    ])
      await assertRefused(
        ask(credential),
        401,
        /error="invalid_token", scope="api:read", resource_metadata="http:\/\/api\.example\.com\/\.well-known\/oauth-protected-resource\/mcp"/,
      )
    // The service's own host: its audience differs from that of its API.
    await assertRefused(ask(here['access_token'], '/app', { host: site.ownHost }), 401, /invalid_token/)
    assert.equal((await ask(here['access_token'], '/', { headers: asPage })).status, 204)
    await assertRefused(ask('pk_unknown', '/', { headers: asPage }), 401, /invalid_token/)
  })

  test('a program that lacks a scope is rejected, and the rejection is audited', async () => {
    const { key } = await newKey('api:read')
    const { key: foreign } = await newKey('events:read')
    const browser = await site.signedIn('scopeless')
    const { access_token: scopeless } = await userTokens(browser, 'openid')
    for (const [credential, method, missing] of [
      [foreign, 'GET', 'api:read'],
      [await machineToken('api:write'), 'GET', 'api:read'],
      [key, 'POST', 'api:read api:write'],
      [await machineToken(), 'POST', 'api:read api:write'],
    ] as const)
      await assertRefused(
        ask(credential, '/orders/1', { method }),
        403,
        new RegExp(`error="insufficient_scope", scope="${missing}"`),
      )
    // Without a scope for the API it is for the userinfo endpoint as well, and still lacks the scope.
    await assertRefused(ask(scopeless), 403, /insufficient_scope/)
    const last = (await site.audited('forward_auth.forbidden')).at(-1)
    assert.deepEqual([last?.code, last?.target], ['insufficient-scope', `host:${api}`])
  })

  test('the rule must also match the token’s user; the admin role counts only in apps for admins', async () => {
    const bob = await site.signedIn('bob')
    const { access_token: ofBob } = await userTokens(bob)
    const ada = await site.signedIn('ada')
    const { access_token: ofAda } = await userTokens(ada)
    assert.equal((await ask(ofAda, '/ada/x')).status, 204)
    assert.equal((await ask(ofBob, '/ada/x')).status, 403)
    const { id } = (await whoAmI(site.service, bob))!
    await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { role: 'admin' } })
    const { access_token: ofAdmin } = await userTokens(
      await site.signedIn('bob'),
      'openid api:read api:write',
    )
    assert.equal((await ask(ofAdmin, '/orders/1', { method: 'POST' })).status, 204)
    assert.equal((await ask(ofAdmin, '/orders/1', { method: 'DELETE' })).status, 403)
  })

  test('a revocation takes effect immediately', async () => {
    const browser = await site.signedIn('revoked')
    const { id } = (await whoAmI(site.service, browser))!
    const { access_token: credential, refresh_token: refresh } = await userTokens(browser, 'openid api:read')
    const { access_token: second } = await userTokens(browser)
    const { id: keyId, key } = await newKey('api:read')
    for (const one of [credential, second, key]) assert.equal((await ask(one)).status, 204)
    const client = { client_id: 'web', client_secret: secret }
    const body = new URLSearchParams({ token: String(refresh ?? credential), ...client })
    assert.equal((await site.service.fetch('/oauth2/revoke', { method: 'POST', body })).status, 200)
    await assertRefused(ask(credential), 401, /invalid_token/)
    assert.equal((await ask(second)).status, 204)
    await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { blocked: true } })
    await assertRefused(ask(second), 401, /invalid_token/)
    await site.service.admin(`/keys/${keyId}`, { method: 'DELETE' })
    await assertRefused(ask(key), 401, /invalid_token/)
    const refused = (await site.audited('key.refused')).at(-1)
    assert.deepEqual([refused?.code, refused?.target], ['revoked-key', `key:${keyId}`])
  })

  test('an expired token and an expired key are rejected', async () => {
    const { key } = await keyUntil(new Date(Date.now() + 600_000).toISOString(), ['api:read'])
    for (const credential of [await machineToken(), key]) {
      site.shift = 0
      assert.equal((await ask(credential)).status, 204)
      site.shift = 16 * 60_000
      await assertRefused(ask(credential), 401, /invalid_token/)
    }
  })

  test('without programs in the rule, Authorization reaches the application', async () => {
    const { key } = await newKey('api:read', 'admin')
    const credential = await machineToken()
    for (const one of [key, credential]) {
      for (const [uri, host] of [
        ['/people/x', api],
        ['/', wiki],
      ] as const) {
        const refused = await ask(one, uri, { host })
        assert.deepEqual([refused.status, refused.headers.get('www-authenticate')], [401, 'Bearer'])
      }
      const open = await ask(one, '/health')
      assert.deepEqual(
        [open.status, open.headers.get('authorization'), open.headers.get('remote-user')],
        [204, `Bearer ${one}`, ''],
      )
    }
    // A person's request keeps what the application itself uses, each its own.
    const browser = await site.signedIn('basic')
    await passedOf((await browser.open(`http://${api}/people/`)).response)
    for (const authorization of ['Bearer of-the-app', 'Basic YTpi', undefined]) {
      const headers = authorization === undefined ? {} : { authorization }
      const answer = await site.ask(browser, api, '/people/x', { headers })
      assert.deepEqual([answer.status, answer.headers.get('authorization')], [204, authorization ?? null])
    }
    const basic = await site.ask(browser, api, '/', { headers: { authorization: 'Basic YTpi' } })
    assert.equal(basic.status, 204)
  })

  test('a credential takes precedence over the cookie, also if it is invalid', async () => {
    const browser = await site.signedIn('both')
    await passedOf((await browser.open(`http://${api}/`)).response)
    const answer = await site.ask(browser, api, '/', { headers: bearer(await machineToken()) })
    assert.equal(answer.headers.get('remote-user'), 'app:machine')
    await assertRefused(site.ask(browser, api, '/', { headers: bearer('pk_x') }), 401, /invalid_token/)
    const person = await site.ask(browser, api, '/')
    assert.deepEqual([person.status, person.headers.get('remote-client')], [204, ''])
  })

  test('forged proxy headers have no effect', async () => {
    const forged = {
      'remote-user': 'root',
      'remote-client': 'key:1',
      'remote-scope': 'api:write',
      'x-forwarded-for': '127.0.0.1',
    }
    const { headers } = await ask(await machineToken(), '/', { headers: forged })
    assert.deepEqual(
      ['user', 'client', 'scope'].map((name) => headers.get(`remote-${name}`)),
      ['app:machine', 'machine', 'api:read'],
    )
    await assertRefused(site.ask(undefined, api, '/', { headers: forged }), 401, /^Bearer scope="api:read"/)
  })

  test('a disguised path needs the scopes of each reading', async () => {
    const credential = await machineToken()
    for (const path of [
      '/orders/../people/x',
      '/orders%2f..%2fpeople/x',
      '/orders/..;/people/x',
      '//people/x',
      '/PEOPLE/x',
      '/%70eople/x',
    ])
      assert.equal((await ask(credential, path)).status, 401, path)
    for (const path of ['/x/../orders/1', '/x%2f..%2forders/1', '/ORDERS/1', '//orders/1'])
      await assertRefused(ask(credential, path, { method: 'POST' }), 403, /insufficient_scope/)
  })

  test('a rule applies to its methods and HEAD to GET; no override or disguise gets another rule', async () => {
    const { key } = await newKey('api:read')
    const status = async (method: string, headers = {}, uri = '/orders/1') =>
      (await ask(key, uri, { method, headers })).status
    assert.deepEqual(await Promise.all(['GET', 'HEAD'].map((method) => status(method))), [204, 204])
    assert.equal(await status('POST'), 403)
    // No rule is for them: nobody passes.
    for (const method of ['PUT', 'OPTIONS', 'PROPFIND', 'GET,DELETE']) assert.equal(await status(method), 401)
    for (const [name, value] of [
      ['x-http-method-override', 'POST'],
      ['x-http-method', 'post'],
      ['x-method-override', 'POST'],
    ] as const)
      assert.equal(await status('GET', { [name]: value }), 403, name)
    assert.equal(await status('GET', {}, '/orders/1?_method=post'), 403)
    assert.equal(await status('GET', {}, '/orders/1?a=1&%5Fmethod=PUT'), 401)
    assert.equal(await status('post'), 403)
    assert.equal(await status('GET', {}, `/orders/1?${'_method=GET&'.repeat(500)}`), 403)
    const browser = await site.signedIn('methods')
    await passedOf((await browser.open(`http://${api}/`)).response)
    const person = async (method: string, headers = {}) =>
      (await site.ask(browser, api, '/orders/1', { method, headers })).status
    assert.deepEqual(
      [await person('GET'), await person('POST'), await person('DELETE'), await person('PUT')],
      [204, 204, 403, 403],
    )
    assert.equal(await person('GET', { 'x-http-method-override': 'DELETE' }), 403)
    // A proxy that does not send the method gets an error that says so.
    const { 'x-forwarded-method': _, ...headers } = { 'x-forwarded-method': '', 'x-forwarded-host': api }
    const silent = await site.service.fetch('/auth/forward', {
      headers: { ...headers, 'x-forwarded-uri': '/orders/1' },
    })
    assert.equal(silent.status, 403)
    assert.match(await silent.text(), /X-Forwarded-Method/)
  })

  const preflight = (uri: string, method = 'POST', origin = spa, more = {}) =>
    plainRequest(site.service.baseUrl, `/auth/forward${uri}`, {
      method: 'OPTIONS',
      headers: {
        host: api,
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization, x-custom',
        ...more,
      },
    })

  test('a preflight of a listed origin is answered for the requested method, without a user', async () => {
    const { status, headers } = await preflight('/orders/1')
    assert.equal(status, 204)
    assert.partialDeepStrictEqual(headers, {
      'access-control-allow-origin': spa,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization, x-custom',
      vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    })
    assert.equal((await preflight('/orders/1', 'GET')).headers['access-control-allow-credentials'], undefined)
    const any = await preflight('/open/x', 'GET', 'https://anybody.example')
    assert.partialDeepStrictEqual(any.headers, { 'access-control-allow-origin': '*' })
    assert.equal(any.headers['access-control-allow-credentials'], undefined)
    // The page can read why its request was rejected.
    const refused = await site.ask(undefined, api, '/orders/1', { headers: { origin: spa } })
    assert.deepEqual([refused.status, refused.headers.get('access-control-allow-origin')], [401, spa])
    assert.match(refused.headers.get('access-control-expose-headers')!, /WWW-Authenticate/)
    // A proxy that only asks cannot send the answer.
    const headersOfPreflight = { origin: spa, 'access-control-request-method': 'POST' }
    const asked = await site.ask(undefined, api, '/orders/1', {
      method: 'OPTIONS',
      headers: headersOfPreflight,
    })
    assert.equal(asked.status, 403)
    assert.match(await asked.text(), /send preflights to \/auth\/forward/)
  })

  test('a preflight of an unlisted origin, or one that smuggles a method, is rejected', async () => {
    const browser = await site.signedIn('preflight')
    await passedOf((await browser.open(`http://${api}/`)).response)
    const cookie = `postern_host=${browser.cookies(`http://${api}`).get('postern_host')}`
    const credentials = { cookie, ...bearer(await machineToken('api:read api:write')) }
    for (const more of [{}, credentials]) {
      for (const origin of [
        'https://evil.example',
        `${spa}.evil.example`,
        'null',
        'http://spa.example',
        `${spa}:8443`,
      ])
        assertNothing(await preflight('/orders/1', 'POST', origin, more))
      for (const method of ['DELETE', 'PUT', 'get', 'POST, DELETE']) {
        const answer = await preflight('/orders/1', method, spa, more)
        if (method === 'get') assert.equal(answer.headers['access-control-allow-methods'], 'GET')
        else assertNothing(answer)
      }
      for (const path of ['/people/x', '/open/../people/x', '/orders%2f..%2fpeople/x'])
        assertNothing(await preflight(path, 'GET', spa, more))
    }
    // OPTIONS with an override of its method is not a preflight.
    const overridden = { 'x-http-method-override': 'DELETE' }
    assertNothing(await preflight('/legacy/x', 'GET', spa, overridden))
    assertNothing(await preflight('/legacy/x?_method=DELETE', 'GET'))
  })

  test("with cors: 'application', preflights reach the application, without a user", async () => {
    const browser = await site.signedIn('legacy')
    await passedOf((await browser.open(`http://${api}/`)).response)
    const headers = { origin: 'https://any.example', 'access-control-request-method': 'PUT' }
    for (const by of [undefined, browser]) {
      const answer = await site.ask(by, api, '/legacy/x', { method: 'OPTIONS', headers })
      assert.deepEqual([answer.status, answer.headers.get('remote-user')], [204, ''])
      assert.equal(answer.headers.get('remote-token'), '')
      assert.doesNotMatch(answer.headers.get('cookie') ?? '', /postern_/)
    }
    assert.equal((await site.ask(undefined, api, '/legacy/x', { method: 'PUT', headers })).status, 401)
    assert.equal((await site.ask(undefined, api, '/legacy/x', { method: 'OPTIONS' })).status, 401)
  })
})

onEachEngine('limits of programs', (engine) => {
  const site = new GuardedSite(engine, () => ({ hosts: { [api]: { allow: 'signed-in', programs: read } } }), {
    RATE_LIMIT: 'on',
  })

  test('an address with many invalid credentials waits; valid ones pass meanwhile', async () => {
    const ask = (credential: string) =>
      site.ask(undefined, api, '/', { headers: { authorization: `Bearer ${credential}` } })
    assert.equal((await ask(adminKey)).status, 204)
    site.stoppedAt = nextMinute()
    let waits: Response | undefined
    for (let count = 0; count < 700 && !waits; count += 1) {
      const answer = await ask(`pk_${count}`)
      assert.equal(answer.status, 401)
      if (answer.headers.has('retry-after')) waits = answer
    }
    assert.match(await waits!.text(), /too many invalid cookies or credentials/)
    assert.equal((await ask(adminKey)).status, 204)
  })
})

function assertNothing({ status, headers }: PlainAnswer): void {
  assert.ok(status === 401 || status === 403, `${status}`)
  for (const name of ['access-control-allow-methods', 'remote-user', 'remote-token'])
    assert.equal(headers[name] ?? '', '', name)
}
