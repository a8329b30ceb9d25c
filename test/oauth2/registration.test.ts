// Apps that register themselves (RFC 7591): only if allowed, and without any right of the product.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt, exportJWK, generateKeyPair } from 'jose'
import {
  Browser,
  engines,
  onEachEngine,
  onOneEngine,
  rowsOf,
  started,
  startOAuthProvider,
} from '#test/harness/index.ts'
import { startedService, startTestService, type TestService } from '#test/harness/service.ts'
import { startReceiver } from '#test/harness/receiver.ts'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import type { Scope } from '../../src/http/access/principal.ts'
import type { Problem } from '../../src/errors.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { ClientManagement } from '../../src/oauth2/clients/client-management.ts'
import { deleteUnusedRegistrations } from '../../src/oauth2/clients/registered-clients.ts'
import { newPkce, signIn, codeGrant } from '../login/harness.ts'
import { allow, authorizeUrl, callback, token } from './harness.ts'

type Json = Record<string, unknown>
const record = createRecordAudit(systemClock)
const request = { client_name: 'Notes', redirect_uris: [callback] }

async function register(service: TestService, body: object, headers: object = {}): Promise<Response> {
  return service.fetch('/oauth2/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

onEachEngine('apps that register themselves', (engine) => {
  const trap = started(startReceiver)
  const service = startedService(engine, () => ({
    env: { CLIENT_REGISTRATION: 'open', ALLOW_PRIVATE_NETWORK: 'true' },
  }))

  test('a registered app can begin a sign-in, and is never first-party', async () => {
    const answer = await register(service, { ...request, token_endpoint_auth_method: 'none' })
    assert.equal(answer.status, 201)
    const made = (await answer.json()) as Json
    assert.equal(made['client_secret'], undefined)
    assert.equal(made['token_endpoint_auth_method'], 'none')
    const id = String(made['client_id'])
    const start = await service.fetch(
      authorizeUrl(service, { client_id: id }).pathname + authorizeUrl(service, { client_id: id }).search,
    )
    assert.equal(start.status, 303)
    const shown = (await (await service.admin(`/clients/${id}`)).json()) as Json
    assert.deepEqual(
      [
        shown['registered'],
        shown['firstParty'],
        shown['admin'],
        shown['managesSessions'],
        shown['clientCredentials'],
        shown['idTokenClaims'],
      ],
      [true, false, false, false, false, 'minimal'],
    )
    const metadata = (await (await service.fetch('/.well-known/openid-configuration')).json()) as Json
    assert.equal(metadata['registration_endpoint'], `${service.baseUrl}/oauth2/register`)
  })

  test('a page of any origin can register its app, and read a refusal', async () => {
    const origin = 'https://inspector.example'
    const allowed = (answer: Response) => answer.headers.get('access-control-allow-origin')
    const preflight = await service.fetch('/oauth2/register', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    })
    assert.deepEqual([preflight.status, allowed(preflight)], [204, '*'])
    assert.equal(preflight.headers.get('access-control-allow-headers'), 'content-type')
    const answer = await register(service, { ...request, token_endpoint_auth_method: 'none' }, { origin })
    assert.deepEqual([answer.status, allowed(answer)], [201, '*'])
    const refused = await register(service, { redirect_uris: ['javascript:alert(1)'] }, { origin })
    assert.deepEqual([refused.status, allowed(refused)], [400, '*'])
  })

  test('without a method it gets a secret, and unknown metadata are ignored', async () => {
    const addresses = { logo_uri: trap.url, client_uri: trap.url, tos_uri: trap.url, policy_uri: trap.url }
    const answer = await register(service, {
      ...request,
      ...addresses,
      first_party: true,
      firstParty: true,
      admin: true,
    })
    assert.equal(answer.status, 201)
    const made = (await answer.json()) as Json
    assert.match(String(made['client_secret']), /^cs_/)
    assert.equal(made['client_secret_expires_at'], 0)
    assert.ok(!JSON.stringify(made).includes(trap.url))
    const shown = (await (await service.admin(`/clients/${String(made['client_id'])}`)).json()) as Json
    assert.ok(!JSON.stringify(shown).includes(trap.url))
    assert.deepEqual([shown['firstParty'], shown['admin']], [false, false])
    assert.equal(trap.calls.length, 0)
  })

  test('scopes of the API are left out', async () => {
    const answer = await register(service, {
      ...request,
      scope: 'openid email admin users:write orders:read',
    })
    assert.equal(((await answer.json()) as Json)['scope'], 'openid email')
    const none = (await (await register(service, { ...request, scope: 'admin' })).json()) as Json
    assert.equal(none['scope'], 'openid profile email groups offline_access')
  })

  test('an app that names no algorithm gets RS256, the default of OpenID Connect Registration', async () => {
    const algorithmOf = async (more: object): Promise<unknown> =>
      ((await (await register(service, { ...request, ...more })).json()) as Json)[
        'id_token_signed_response_alg'
      ]
    assert.equal(await algorithmOf({}), 'RS256')
    assert.equal(await algorithmOf({ id_token_signed_response_alg: 'ES256' }), 'ES256')
    assert.equal(await algorithmOf({ id_token_signed_response_alg: 'PS512' }), 'RS256')
  })

  test('attacks: dangerous redirect URIs, and addresses to be called', async () => {
    const before = await entries()
    for (const uri of [
      'javascript:alert(1)',
      'JavaScript:alert(1)',
      'data:text/html,x',
      'http://app.example.com/callback',
      'https://app.example.com/callback#x',
      'https://user:pass@app.example.com/',
      'https://:@app.example.com/',
      'https:app.example.com',
      '/callback',
      'https://*.example.com/',
      'https://%2a.example.com/',
      'https://app.example.com/a\r\nSet-Cookie: a=b',
      'view-source:https://app.example.com/',
      'search-ms:query=x&crumb=location:%5C%5Cevil.example',
      'ms-msdt:/id%20PCWDiagnostic',
      'ms-word:ofe%7Cu%7Chttps://evil.example/x.docx',
      'shell:startup',
      'file:///etc/passwd',
      'blob:https://app.example.com/1',
      'about:blank',
      'vbscript:msgbox',
      'ws://app.example.com/',
      'wss://app.example.com/',
      'chrome-extension://abc/callback',
      'tel:+123',
      'smb://evil.example/share',
      'HTTP://app.example.com/callback',
      'http://localhost.evil.example/',
      'intent://evil.example/#Intent;scheme=https;end',
      'mailto:all@example.com',
      'ftp://app.example.com/',
    ]) {
      await refused({ ...request, redirect_uris: [callback, uri] }, 'invalid_redirect_uri')
      await refused({ ...request, post_logout_redirect_uris: [uri] }, 'invalid_client_metadata')
    }
    const rest = await entries()
    assert.ok(rest - before >= 7, 'each refusal has an entry')
    await refused({ client_name: 'none' }, 'invalid_redirect_uri')
    const publicKey = await exportJWK((await generateKeyPair('ES256')).publicKey)
    for (const metadata of [
      { jwks_uri: trap.url },
      { sector_identifier_uri: trap.url },
      { request_uris: [trap.url] },
      { software_statement: 'x.y.z' },
      { grant_types: ['client_credentials'] },
      { grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'implicit'] },
      { response_types: ['token'] },
      { client_name: 'x'.repeat(101) },
      { client_name: 'a\u0000b' },
      { client_name: 'a\nb' },
      { client_name: 'a\u202eb' },
      { client_name: '\u200b' },
      { token_endpoint_auth_method: 'tls_client_auth' },
      { token_endpoint_auth_method: 'private_key_jwt' },
      {
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [{ kty: 'RSA', n: 'x'.repeat(12_000), e: 'AQAB' }] },
      },
      ...[{ key_ops: ['verify', 'sign'] }, { key_ops: 'verify' }, { oth: 'x' }].map((more) => ({
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [{ ...publicKey, ...more }] },
      })),
      { redirect_uris: Array.from({ length: 51 }, (_, i) => `${callback}/${i}`) },
    ])
      await refused({ ...request, ...metadata }, 'invalid_client_metadata')
    assert.equal(trap.calls.length, 0)
    const huge = await register(service, { ...request, client_name: 'x'.repeat(20_000) })
    assert.equal(huge.status, 400)
  })

  test('only so many apps may register themselves', async () => {
    await deleteUnusedRegistrations(service.database, record, Date.now() + 8 * 86_400_000)
    const { database } = service
    const management = new ClientManagement({
      database,
      clock: systemClock,
      record,
      declared: [],
      mostRegistered: { all: 2 },
    })
    const caller = { origin: {}, requireAdmin: () => undefined }
    const settings = { redirectUris: [callback] }
    const create = (origin: 'registration' | 'api') =>
      management.create({ name: 'Notes', confidential: false, settings, origin }, caller)
    const { client } = await create('registration')
    await create('registration')
    await assert.rejects(create('registration'), (error: { code?: string }) => error.code === 'conflict')
    await create('api')
    await management.remove(client.id, caller)
    await create('registration')
  })

  test('one address may have so many unused apps, and no more', async () => {
    await deleteUnusedRegistrations(service.database, record, Date.now() + 8 * 86_400_000)
    const { database } = service
    let now = Date.now()
    const clock = { ...systemClock, now: () => now }
    const management = new ClientManagement({
      database,
      clock,
      record,
      declared: [],
      mostRegistered: { unused: 2 },
    })
    const caller = { origin: {}, requireAdmin: () => undefined }
    const settings = { redirectUris: [callback] }
    const create = (network: string | undefined) =>
      management.create(
        { name: 'Notes', confidential: false, settings, origin: 'registration', network },
        caller,
      )
    const { client } = await create('203.0.113.7')
    now += 1000
    await create('203.0.113.7')
    await assert.rejects(
      create('203.0.113.7'),
      ({ code, extras }: Problem) =>
        code === 'too-many-requests' && extras.retryAfter! > 86_390 && extras.retryAfter! < 86_400,
    )
    await create('203.0.113.8')
    await create(undefined)
    now += 1000
    await management.change(client.id, { name: 'In use' }, caller)
    await create('203.0.113.7')
    await assert.rejects(create('203.0.113.7'))
    now += 86_400_000
    await deleteUnusedRegistrations(database, record, now)
    await create('203.0.113.7')
    const rows = await rowsOf({ database }, 'clients', { id: client.id })
    assert.deepEqual(
      rows.map((row) => row.registered_from),
      [null],
      'the address is not kept longer than it is needed',
    )
  })

  test('registrations over HTTP count by the address, IPv6 by its /64', async () => {
    await using behindProxy = await startTestService(engine, {
      env: { CLIENT_REGISTRATION: 'open', TRUSTED_PROXIES: '127.0.0.1' },
    })
    const status = async (address: string): Promise<number> =>
      (await register(behindProxy, request, { 'x-forwarded-for': address })).status
    for (let each = 0; each < 50; each += 1)
      assert.equal(await status(`2001:db8:1:2::${each.toString(16)}`), 201)
    assert.equal(await status('2001:db8:1:2:ffff::1'), 429)
    assert.equal(await status('2001:db8:1:3::1'), 201)
  })

  test('an app that nobody uses is deleted after a day', async () => {
    const { client_id: id } = (await (await register(service, request)).json()) as Json
    const shown = async (): Promise<number> => (await service.admin(`/clients/${String(id)}`)).status
    await deleteUnusedRegistrations(service.database, record, Date.now() + 86_000_000)
    assert.equal(await shown(), 200)
    await deleteUnusedRegistrations(service.database, record, Date.now() + 86_500_000)
    assert.equal(await shown(), 404)
    const entry = (
      await rowsOf(service, 'audit_log', { action: 'client.deleted', target: `app:${String(id)}` })
    )[0]
    assert.equal(entry?.actor, 'schedule')
    assert.deepEqual(JSON.parse(entry.detail!), { name: 'Notes', confidential: true, reason: 'unused' })
  })

  test('an app that an admin changed is kept: nobody may sign in with an app for client credentials', async () => {
    const { client_id: id } = (await (await register(service, request)).json()) as Json
    const path = `/clients/${String(id)}`
    const json = { clientCredentials: true }
    assert.equal((await service.admin(path, { method: 'PATCH', json })).status, 200)
    await deleteUnusedRegistrations(service.database, record, Date.now() + 8 * 86_400_000)
    assert.equal((await service.admin(path)).status, 200)
  })

  async function refused(body: object, error: string): Promise<void> {
    const answer = await register(service, body)
    const text = await answer.text()
    assert.equal(answer.status, 400, `${JSON.stringify(body).slice(0, 200)}: ${text}`)
    assert.equal((JSON.parse(text) as Json)['error'], error, text)
  }
  async function entries(): Promise<number> {
    const rows = await rowsOf(service, 'audit_log', { action: 'client.refused' })
    return rows.length
  }
})

const mcpApi = 'https://mcp.example.com'
/** As VS Code registers at a service that lists these grant types: with those of its own that the metadata lists. */
const vsCode = (supported: readonly string[]) => ({
  client_name: 'Visual Studio Code',
  client_uri: 'https://code.visualstudio.com',
  grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'].filter(
    (one) => supported.includes(one),
  ),
  response_types: ['code'],
  redirect_uris: [
    'https://insiders.vscode.dev/redirect',
    'https://vscode.dev/redirect',
    'http://127.0.0.1/',
    'http://127.0.0.1:33418/',
  ],
  scope: 'mcp:tools mcp:unknown',
  token_endpoint_auth_method: 'none',
  application_type: 'native',
})
const cursor = {
  client_name: 'Cursor',
  redirect_uris: [
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'https://www.cursor.com/agents/mcp/oauth/callback',
    'http://localhost:8787/callback',
  ],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  application_type: 'native',
}

onOneEngine('apps for the APIs of the settings', (engine) => {
  const provider = started(startOAuthProvider)
  const service = startedService(engine, () => ({
    env: {
      ...provider.env('ACME'),
      CLIENT_REGISTRATION: 'open',
      CLIENT_REGISTRATION_APIS: `${mcpApi},https://other.example.com/mcp`,
      CLIENT_REGISTRATION_SCOPES: 'mcp:tools,mcp:admin',
    },
  }))

  async function registered(body: object): Promise<Json> {
    const answer = await register(service, body)
    const text = await answer.text()
    assert.equal(answer.status, 201, text)
    return JSON.parse(text) as Json
  }

  test('VS Code registers with what the metadata lists, and learns what it got', async () => {
    const metadata = (await (await service.fetch('/.well-known/oauth-authorization-server')).json()) as {
      grant_types_supported: string[]
      scopes_supported: string[]
    }
    assert.ok(metadata.scopes_supported.includes('mcp:tools'))
    const body = vsCode(metadata.grant_types_supported)
    assert.equal(body.grant_types.length, 3, 'the metadata lists the device grant')
    const made = await registered(body)
    assert.deepEqual(
      [made['grant_types'], made['scope'], made['token_endpoint_auth_method'], made['redirect_uris']],
      [['authorization_code', 'refresh_token'], 'mcp:tools', 'none', body.redirect_uris],
    )
  })

  test('metadata that are null or empty count as omitted', async () => {
    const empty = {
      client_name: null,
      scope: '',
      grant_types: [],
      response_types: null,
      jwks: null,
      jwks_uri: '',
    }
    const rest = { redirect_uris: cursor.redirect_uris, token_endpoint_auth_method: 'none', request_uris: [] }
    const made = await registered({ ...empty, ...rest, id_token_signed_response_alg: null })
    const omitted = await registered({ ...rest, request_uris: undefined })
    for (const name of Object.keys(omitted).filter((one) => !one.startsWith('client_id')))
      assert.deepEqual(made[name], omitted[name], name)
    for (const uris of [[], null])
      assert.equal((await register(service, { redirect_uris: uris })).status, 400)
    for (const body of [[], null, '', 7]) assert.equal((await register(service, body as object)).status, 400)
  })

  test('Cursor registers its private scheme, and its person is asked at each sign-in', async () => {
    const made = await registered(cursor)
    assert.equal(made['scope'], 'openid profile email groups offline_access mcp:tools mcp:admin')
    const browser = new Browser()
    await signIn(service, browser)
    const start = () =>
      authorizeUrl(service, {
        client_id: String(made['client_id']),
        redirect_uri: cursor.redirect_uris[0]!,
        scope: 'mcp:tools',
        resource: mcpApi,
      })
    for (let round = 0; round < 2; round += 1) {
      const answer = await browser.go(start())
      const page = await answer.text()
      assert.equal(answer.status, 200, page)
      assert.match(page, /You continue to <code>cursor:\/\/anysphere\.cursor-mcp<\/code>/)
      const target = await allow(service, browser, page)
      assert.equal(target.protocol, 'cursor:')
      assert.ok(target.searchParams.get('code'))
    }
  })

  /** Signs in, allows, and exchanges the code. */
  async function tokens(asked: Record<string, string>, atToken: Record<string, string> = {}) {
    const pkce = newPkce()
    const browser = new Browser()
    await signIn(service, browser)
    const page = await (await browser.go(authorizeUrl(service, asked, pkce))).text()
    assert.match(page, /APIs: <code>https:\/\/mcp\.example\.com<\/code>/)
    assert.match(page, /Use <code>mcp:tools<\/code>/)
    const target = await allow(service, browser, page)
    return token(
      service,
      codeGrant(target.searchParams.get('code')!, pkce, { client_id: asked['client_id']!, ...atToken }),
    )
  }

  test('a token for an API of the setting, however the client spells the address, after consent', async () => {
    const made = await registered({
      redirect_uris: [callback],
      scope: 'openid',
      token_endpoint_auth_method: 'none',
    })
    const id = String(made['client_id'])
    // It registered without the scope of the API, which the API demanded later.
    for (const spelling of [mcpApi, `${mcpApi}/`, 'HTTPS://MCP.example.com/']) {
      const { status, body } = await tokens(
        { client_id: id, scope: 'mcp:tools', resource: spelling, prompt: 'consent' },
        { resource: spelling },
      )
      assert.equal(status, 200, JSON.stringify(body))
      const claims = decodeJwt(String(body['access_token']))
      assert.deepEqual([claims.aud, claims['scope']], [mcpApi, 'mcp:tools'])
      const refreshed = await token(service, {
        grant_type: 'refresh_token',
        client_id: id,
        refresh_token: String(body['refresh_token']),
        resource: spelling,
      })
      assert.equal(refreshed.status, 200)
      assert.equal(decodeJwt(String(refreshed.body['access_token'])).aud, mcpApi)
      const call = await service.fetch('/auth/sessions', {
        headers: { authorization: `Bearer ${String(body['access_token'])}` },
      })
      assert.equal(call.status, 401, 'the token is for the other API only')
    }
    await deleteUnusedRegistrations(service.database, record, Date.now() + 8 * 86_400_000)
    assert.equal((await service.admin(`/clients/${id}`)).status, 200, 'an app with a sign-in stays')
  })

  test('other APIs and the scopes of this service stay out of reach', async () => {
    const made = await registered({ redirect_uris: [callback], token_endpoint_auth_method: 'none' })
    const browser = new Browser()
    await signIn(service, browser)
    const refusal = async (more: Record<string, string>): Promise<string> => {
      const page = await (
        await browser.go(authorizeUrl(service, { client_id: String(made['client_id']), ...more }))
      ).text()
      return /error=(\w+)/.exec(page)?.[1] ?? page
    }
    assert.equal(await refusal({ resource: 'https://evil.example' }), 'invalid_target')
    assert.equal(await refusal({ resource: `${mcpApi}/admin` }), 'invalid_target')
    assert.equal(await refusal({ scope: 'admin' }), 'invalid_scope')
    assert.equal(await refusal({ scope: 'users:read' }), 'invalid_scope')
  })
})

test('scopes of this service in the setting stop the start', async () => {
  const [engine] = engines
  for (const scope of ['admin', 'users:read,mcp:tools', 'a"b'])
    await assert.rejects(
      startTestService(engine!, { env: { CLIENT_REGISTRATION_SCOPES: scope } }),
      /CLIENT_REGISTRATION_SCOPES/,
    )
})

onOneEngine('who may register an app', (engine) => {
  test('nobody, unless the setting allows it', async () => {
    await using service = await startTestService(engine)
    assert.equal((await register(service, request)).status, 404)
    const metadata = (await (await service.fetch('/.well-known/openid-configuration')).json()) as Json
    assert.equal(metadata['registration_endpoint'], undefined)
  })

  test('with `token`: an API key with clients:write', async () => {
    await using service = await startTestService(engine, { env: { CLIENT_REGISTRATION: 'token' } })
    const keys = new ApiKeys(service.database, systemClock, createRecordAudit(systemClock))
    const as = async (scope: Scope) => {
      const { key } = await keys.create({ name: 'x', scopes: [scope] }, {})
      return (await register(service, request, { authorization: `Bearer ${key}` })).status
    }
    assert.equal((await register(service, request)).status, 401)
    assert.equal(await as('clients:read'), 403)
    assert.equal(await as('clients:write'), 201)
  })
})
