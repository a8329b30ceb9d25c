// Apps that register themselves (RFC 7591): only if allowed, and without any right of the product.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEachEngine } from '#test/harness/engines.ts'
import { startReceiver, type Receiver } from '#test/harness/receiver.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import type { Scope } from '../../src/http/access/scopes.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { ClientManagement } from '../../src/oauth2/clients/client-management.ts'
import { deleteUnusedRegistrations } from '../../src/oauth2/clients/registered-clients.ts'
import { authorizeUrl, callback } from './harness.ts'

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
  let service: TestService
  let trap: Receiver
  before(async () => {
    trap = await startReceiver()
    service = await startTestService(engine, {
      env: { CLIENT_REGISTRATION: 'open', ALLOW_PRIVATE_NETWORK: 'true' },
    })
  })
  after(async () => {
    await service.close()
    await trap.close()
  })

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
      ],
      [true, false, false, false, false],
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
      'intent://evil.example/#Intent;scheme=https;end',
      'mailto:all@example.com',
      'ftp://app.example.com/',
    ])
      await refused({ ...request, redirect_uris: [callback, uri] }, 'invalid_redirect_uri')
    const rest = await entries()
    assert.ok(rest - before >= 7, 'each refusal has an entry')
    await refused({ client_name: 'none' }, 'invalid_redirect_uri')
    for (const metadata of [
      { jwks_uri: trap.url },
      { sector_identifier_uri: trap.url },
      { request_uris: [trap.url] },
      { software_statement: 'x.y.z' },
      { grant_types: ['client_credentials'] },
      { grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'implicit'] },
      { response_types: ['token'] },
      { scope: 'admin' },
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
      mostRegistered: 2,
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

  test('an app that nobody uses is deleted after a week', async () => {
    const { client_id: id } = (await (await register(service, request)).json()) as Json
    const shown = async (): Promise<number> => (await service.admin(`/clients/${String(id)}`)).status
    await deleteUnusedRegistrations(service.database, record, Date.now() + 86_400_000)
    assert.equal(await shown(), 200)
    await deleteUnusedRegistrations(service.database, record, Date.now() + 8 * 86_400_000)
    assert.equal(await shown(), 404)
    const entry = await service.database.reader
      .selectFrom('audit_log')
      .select(['actor', 'detail'])
      .where('action', '=', 'client.deleted')
      .where('target', '=', `app:${String(id)}`)
      .executeTakeFirst()
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
    const rows = await service.database.reader
      .selectFrom('audit_log')
      .select('code')
      .where('action', '=', 'client.refused')
      .execute()
    return rows.length
  }
})

onEachEngine('who may register an app', (engine) => {
  test('nobody, unless the setting allows it', async () => {
    const service = await startTestService(engine)
    try {
      assert.equal((await register(service, request)).status, 404)
      const metadata = (await (await service.fetch('/.well-known/openid-configuration')).json()) as Json
      assert.equal(metadata['registration_endpoint'], undefined)
    } finally {
      await service.close()
    }
  })

  test('with `token`: an API key with clients:write', async () => {
    const service = await startTestService(engine, { env: { CLIENT_REGISTRATION: 'token' } })
    try {
      const keys = new ApiKeys(service.database, systemClock, createRecordAudit(systemClock))
      const as = async (scope: Scope) => {
        const { key } = await keys.create({ name: 'x', scopes: [scope] }, {})
        return (await register(service, request, { authorization: `Bearer ${key}` })).status
      }
      assert.equal((await register(service, request)).status, 401)
      assert.equal(await as('clients:read'), 403)
      assert.equal(await as('clients:write'), 201)
    } finally {
      await service.close()
    }
  })
})
