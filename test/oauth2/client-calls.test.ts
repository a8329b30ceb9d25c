// How apps authenticate, get tokens without a user, and ask about and end tokens.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import {
  decodeJwt,
  exportJWK,
  generateKeyPair,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTPayload,
} from 'jose'
import { Browser, onEachEngine, rowsOf, started, startOAuthProvider } from '#test/harness/index.ts'
import { startTestService } from '#test/harness/service.ts'
import { ClientAssertions } from '../../src/oauth2/clients/client-assertions.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { answerOf, basic, callback, secret, token } from './harness.ts'
import { newPkce } from '../login/harness.ts'

const api = 'https://api.example.com'
type Json = Record<string, unknown>

onEachEngine('calls of apps', (engine) => {
  let shift = 0
  const keys = new Map<string, CryptoKey>()
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const jwks: JWK[] = []
    for (const alg of ['ES256', 'RS256', 'PS256', 'EdDSA']) {
      const { publicKey, privateKey } = await generateKeyPair(alg)
      keys.set(alg, privateKey)
      jwks.push({ ...(await exportJWK(publicKey)), kid: alg, alg })
    }
    return startTestService(engine, {
      env: { ...provider.env('ACME'), ADMIN_IDENTITIES: 'acme:boss' },
      config: {
        login: {
          clients: [
            { id: 'spa', redirectUris: [callback] },
            { id: 'web', redirectUris: [callback], secret },
            { id: 'signer', redirectUris: [callback], jwks: { keys: jwks }, clientCredentials: true },
            {
              id: 'job',
              secret,
              clientCredentials: true,
              scopes: ['openid', 'subscribers:read', 'orders:read'],
              audiences: [api],
            },
            { id: 'api', secret, clientCredentials: true, audiences: [api] },
          ],
        },
      },
      parts: { clock: { ...systemClock, now: () => Date.now() + shift } },
    })
  })

  const grant = { grant_type: 'client_credentials' }
  const assertion = (alg: string, claims: JWTPayload = {}): Promise<string> => {
    const now = Math.floor((Date.now() + shift) / 1000)
    return new SignJWT({
      iss: 'signer',
      sub: 'signer',
      aud: service.baseUrl,
      jti: randomUUID(),
      exp: now + 60,
      ...claims,
    })
      .setProtectedHeader({ alg, kid: alg })
      .sign(keys.get(alg)!)
  }
  const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
  const withAssertion = async (text: string | Promise<string>) =>
    token(service, { ...grant, client_assertion_type: type, client_assertion: await text })
  async function ask(path: string, fields: Record<string, string>, headers: object): Promise<Json> {
    const body = new URLSearchParams(fields)
    const answer = await service.fetch(path, { method: 'POST', body, headers: { ...headers } })
    assert.equal(answer.status, 200)
    return (await answer.json()) as Json
  }
  async function tokensOf(
    clientId: string,
    person: string,
    more: Record<string, string> = {},
  ): Promise<Json> {
    provider.profile = { id: person }
    const pkce = newPkce()
    const { code } = await answerOf(service, new Browser(), { client_id: clientId, ...more }, pkce)
    const fields = { grant_type: 'authorization_code', code: code!, redirect_uri: callback }
    const { body } = await token(service, {
      ...fields,
      client_id: clientId,
      code_verifier: pkce.verifier,
      ...(clientId !== 'spa' && { client_secret: secret }),
    })
    assert.ok(body['access_token'], JSON.stringify(body))
    return body
  }
  const call = (accessToken: unknown, path: string): Promise<Response> =>
    service.fetch(path, { headers: { authorization: `Bearer ${String(accessToken)}` } })

  test('an app authenticates with an assertion of each algorithm, once', async () => {
    for (const alg of keys.keys()) {
      const text = await assertion(alg)
      assert.equal((await withAssertion(text)).status, 200, alg)
      const again = await withAssertion(text)
      assert.deepEqual([again.status, again.body['error']], [401, 'invalid_client'])
    }
    const endpoint = { aud: [service.baseUrl, `${service.baseUrl}/oauth2/token`] }
    assert.equal((await withAssertion(assertion('ES256', endpoint))).status, 200)
  })

  test('an assertion is used up until it expires, and then swept', async () => {
    const clock = { ...systemClock, now: () => Date.now() + shift }
    const { database, baseUrl } = service
    const assertions = new ClientAssertions({ database, clock, baseUrl: () => baseUrl })
    const stored = async (): Promise<number> =>
      (await database.reader.selectFrom('used_assertions').selectAll().execute()).length
    const text = await assertion('ES256')
    assert.equal((await withAssertion(text)).status, 200)
    const before = await stored()
    await assertions.sweep(clock.now())
    assert.equal(await stored(), before, 'one that is still valid stays')
    assert.equal((await withAssertion(text)).status, 401)
    shift += 700_000
    await assertions.sweep(clock.now())
    assert.equal(await stored(), 0)
    assert.equal((await withAssertion(text)).status, 401)
    assert.equal((await withAssertion(assertion('ES256'))).status, 200)
  })

  test('a token without a user: no refresh token, no id_token, and the scopes of the app', async () => {
    const { status, body } = await token(service, grant, basic('job'))
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body).toSorted(), ['access_token', 'expires_in', 'scope', 'token_type'])
    assert.equal(body['scope'], 'subscribers:read orders:read')
    const claims = decodeJwt(String(body['access_token']))
    assert.deepEqual(
      [claims.sub, claims['client_id'], claims.aud, claims['sid']],
      ['job', 'job', service.baseUrl, undefined],
    )
    const one = await token(service, { ...grant, scope: 'orders:read', resource: api }, basic('job'))
    assert.equal(decodeJwt(String(one.body['access_token'])).aud, api)
    assert.equal(one.body['scope'], 'orders:read')
  })

  test('such a token reaches what its scopes name, and nothing that is for users', async () => {
    const { body } = await token(service, grant, basic('job'))
    const own = body['access_token']
    assert.equal((await call(own, '/subscribers')).status, 200)
    for (const path of [
      '/auth/session',
      '/auth/sessions',
      '/auth/identities',
      '/auth/audit',
      '/clients',
      '/audit',
    ])
      assert.equal((await call(own, path)).status, 403, path)
    assert.equal((await call(own, '/oauth2/userinfo')).status, 401)
    const other = await token(service, { ...grant, resource: api }, basic('job'))
    assert.equal((await call(other.body['access_token'], '/subscribers')).status, 401)
    const rows = await rowsOf(service, 'audit_log', { action: 'call.forbidden' })
    assert.ok(rows.length > 0 && rows.every(({ actor }) => actor === 'app:job'))
  })

  test('introspection: own tokens, and those for an API of the app, until they end', async () => {
    const mine = await tokensOf('web', 'ann')
    for (const kind of ['access_token', 'refresh_token']) {
      const about = { token: String(mine[kind]) }
      const told = await ask('/oauth2/introspect', about, basic('web'))
      assert.equal(told['active'], true, kind)
      assert.equal(told['client_id'], 'web')
      assert.equal(told['sub'], decodeJwt(String(mine['access_token'])).sub)
      assert.equal(told['scope'], 'openid')
      assert.deepEqual(await ask('/oauth2/introspect', about, basic('job')), { active: false })
    }
    const forApi = await token(service, { ...grant, resource: api }, basic('job'))
    const about = { token: String(forApi.body['access_token']) }
    assert.equal((await ask('/oauth2/introspect', about, basic('api')))['sub'], 'job')
    assert.deepEqual(await ask('/oauth2/introspect', about, basic('web')), { active: false })
    assert.deepEqual(await ask('/oauth2/introspect', { token: 'made-up' }, basic('web')), { active: false })
  })

  test('introspection: a refresh token whose use would end its sign-in is not active', async () => {
    const { refresh_token: first } = await tokensOf('web', 'introspected')
    const refresh = async (one: unknown): Promise<string> => {
      const { body } = await token(
        service,
        { grant_type: 'refresh_token', refresh_token: String(one) },
        basic('web'),
      )
      return String(body['refresh_token'])
    }
    const [used, other] = [await refresh(first), await refresh(first)]
    const isActive = async (one: string): Promise<unknown> =>
      (await ask('/oauth2/introspect', { token: one }, basic('web')))['active']
    assert.deepEqual([await isActive(used), await isActive(other)], [true, true])
    await refresh(used)
    assert.equal(await isActive(other), false)
  })

  test('a revoked token ends the whole sign-in, by either token', async () => {
    for (const kind of ['access_token', 'refresh_token']) {
      const mine = await tokensOf('web', 'ben')
      assert.equal((await call(mine['access_token'], '/auth/session')).status, 200)
      assert.deepEqual(await ask('/oauth2/revoke', { token: String(mine[kind]) }, basic('web')), {})
      assert.equal((await call(mine['access_token'], '/auth/session')).status, 401)
      for (const one of ['access_token', 'refresh_token'])
        assert.deepEqual(await ask('/oauth2/introspect', { token: String(mine[one]) }, basic('web')), {
          active: false,
        })
      // RFC 7009, section 2.2: also for a token that has ended.
      assert.deepEqual(await ask('/oauth2/revoke', { token: String(mine[kind]) }, basic('web')), {})
    }
    const entries = await rowsOf(service, 'audit_log', { action: 'tokens.revoked', target: 'app:web' })
    assert.deepEqual(
      entries.map(({ actor, detail }) => [actor, detail]),
      Array.from({ length: 2 }, () => ['app:web', '{"reason":"client"}']),
    )
    assert.ok(entries.every(({ user_id: id }) => id !== null))
  })

  /** An app of the database, a sign-in with it, and a call with its id and secret. */
  async function signInWithStored(settings: Json, asked: Record<string, string>) {
    const json = { name: 'x', redirectUris: [callback], firstParty: true, ...settings }
    const made = await service.admin('/clients', { method: 'POST', json })
    const { id, secret: own } = (await made.json()) as { id: string; secret: string }
    provider.profile = { id: 'dan', email: 'dan@example.com' }
    const pkce = newPkce()
    const { code } = await answerOf(service, new Browser(), { client_id: id, ...asked }, pkce)
    const credentials = { client_id: id, client_secret: own }
    const exchanged = { code: code!, redirect_uri: callback, code_verifier: pkce.verifier }
    const { body } = await token(service, { grant_type: 'authorization_code', ...credentials, ...exchanged })
    const refresh = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) }
    return {
      body,
      headers: basic(id, own),
      change: (json: Json) => service.admin(`/clients/${id}`, { method: 'PATCH', json }),
      refresh: () => token(service, { ...refresh, ...credentials }),
    }
  }

  test('a scope that the app lost does not count any more: at a refresh, introspection and userinfo', async () => {
    const scopes = ['openid', 'email', 'orders:read']
    const app = await signInWithStored({ scopes }, { scope: scopes.join(' ') })
    assert.equal(app.body['scope'], scopes.join(' '))
    const introspected = async (kind: string): Promise<unknown> =>
      (await ask('/oauth2/introspect', { token: String(app.body[kind]) }, app.headers))['scope']
    const claims = async (): Promise<Json> =>
      (await (await call(app.body['access_token'], '/oauth2/userinfo')).json()) as Json
    assert.equal((await claims())['email'], 'dan@example.com')
    await app.change({ scopes: ['openid'] })
    assert.equal(await introspected('access_token'), 'openid')
    assert.equal(await introspected('refresh_token'), 'openid')
    assert.deepEqual(Object.keys(await claims()), ['sub'])
    assert.equal((await app.refresh()).body['scope'], 'openid')
    await app.change({ scopes: ['orders:read'] })
    assert.equal((await call(app.body['access_token'], '/oauth2/userinfo')).status, 403)
  })

  test('a refresh gives no API that the app lost meanwhile', async () => {
    const other = 'https://other.example.com'
    const app = await signInWithStored({ audiences: [api, other] }, { resource: api })
    await app.change({ audiences: [other] })
    const refused = await app.refresh()
    assert.deepEqual([refused.status, refused.body['error']], [400, 'invalid_target'])
    await app.change({ audiences: [api] })
    const { status, body } = await app.refresh()
    assert.equal(status, 200, 'the refused call did not use the refresh token up')
    assert.deepEqual(decodeJwt(String(body['access_token'])).aud, [api, `${service.baseUrl}/oauth2/userinfo`])
  })

  test('a public app revokes its tokens from a page, and may not ask about tokens', async () => {
    const mine = await tokensOf('spa', 'cat')
    const origin = new URL(callback).origin
    const answer = await service.fetch('/oauth2/revoke', {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'spa', token: String(mine['refresh_token']) }),
      headers: { origin },
    })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('access-control-allow-origin'), origin)
    assert.equal((await call(mine['access_token'], '/auth/session')).status, 401)
    const asked = await service.fetch('/oauth2/introspect', {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'spa', token: String(mine['access_token']) }),
    })
    assert.equal(asked.status, 401)
  })

  test('a token without a user cannot be revoked, and the answer says so', async () => {
    const { body } = await token(service, grant, basic('job'))
    const answer = await service.fetch('/oauth2/revoke', {
      method: 'POST',
      body: new URLSearchParams({ token: String(body['access_token']) }),
      headers: basic('job'),
    })
    assert.equal(answer.status, 400)
    assert.equal(((await answer.json()) as Json)['error'], 'unsupported_token_type')
  })

  test('the metadata name the endpoints and methods that work', async () => {
    const metadata = (await (await service.fetch('/.well-known/openid-configuration')).json()) as Json
    assert.equal(metadata['introspection_endpoint'], `${service.baseUrl}/oauth2/introspect`)
    assert.equal(metadata['revocation_endpoint'], `${service.baseUrl}/oauth2/revoke`)
    assert.ok((metadata['grant_types_supported'] as string[]).includes('client_credentials'))
    assert.ok((metadata['token_endpoint_auth_methods_supported'] as string[]).includes('private_key_jwt'))
    assert.ok(!(metadata['introspection_endpoint_auth_methods_supported'] as string[]).includes('none'))
  })
})
