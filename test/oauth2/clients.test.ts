// The apps of the database: made, changed and deleted by the API, with secrets that are shown once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, rowsOf, started, startedService, startTestService } from '#test/harness/index.ts'
import { startOAuthProvider } from '#test/harness/oauth-provider.ts'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { isConfigurationError } from '../harness/configuration-error.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { appCode, exchange, newPkce, spa } from '../login/harness.ts'

const redirectUri = 'https://app.example.com/callback'
const redirectUris = [redirectUri]
type Json = Record<string, unknown>

onEachEngine('apps of the database', (engine) => {
  let shift = 0
  const provider = started(startOAuthProvider)
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    config: { login: { clients: [spa] } },
    parts: { clock: { ...systemClock, now: () => Date.now() + shift } },
  }))

  async function call(status: number, method: string, path: string, json?: unknown): Promise<Json> {
    const response = await service.admin(path, { method, json })
    const text = await response.text()
    assert.equal(response.status, status, text)
    return text === '' ? {} : (JSON.parse(text) as Json)
  }
  const create = (more: object = {}): Promise<Json> =>
    call(201, 'POST', '/clients', { name: 'Notes', redirectUris, firstParty: true, ...more })
  const tokenOf = async (clientId: unknown, secret?: unknown): Promise<{ status: number; body: Json }> => {
    provider.profile = { id: 'ann' }
    const pkce = newPkce()
    return exchange(service, {
      grant_type: 'authorization_code',
      client_id: String(clientId),
      ...(typeof secret === 'string' && { client_secret: secret }),
      code: await appCode(service, pkce, { client_id: String(clientId) }),
      code_verifier: pkce.verifier,
      redirect_uri: redirectUri,
    })
  }
  const refresh = (clientId: unknown, secret: unknown, token: unknown) =>
    exchange(service, {
      grant_type: 'refresh_token',
      client_id: String(clientId),
      client_secret: String(secret),
      refresh_token: String(token),
    })

  test('a confidential app signs in with its secret, which only the first answer shows', async () => {
    const { id, secret } = await create()
    assert.match(String(id), /^app_[0-9a-f-]{36}$/)
    assert.match(String(secret), /^cs_[\w-]{43}$/)
    const shown = await call(200, 'GET', `/clients/${String(id)}`)
    assert.ok(!JSON.stringify(shown).includes(String(secret)))
    assert.equal((shown['secrets'] as Json[])[0]!['begins'], String(secret).slice(0, 7))
    assert.equal((await tokenOf(id, secret)).status, 200)
    const { status, body } = await tokenOf(id, 'cs_wrong')
    assert.deepEqual([status, body['error']], [401, 'invalid_client'])
    assert.equal((await tokenOf(id)).status, 401)
  })

  test('of several secrets two are valid, the older one until the given time', async () => {
    const { id, secret } = await create()
    const { body } = await tokenOf(id, secret)
    let token = body['refresh_token']
    const works = async (one: unknown): Promise<boolean> => {
      const { status, body: next } = await refresh(id, one, token)
      if (status === 200) token = next['refresh_token']
      return status === 200
    }
    const rotate = (json: object): Promise<Json> => call(201, 'POST', `/clients/${String(id)}/secrets`, json)
    const second = await rotate({ overlapSeconds: 60 })
    assert.deepEqual([await works(secret), await works(second['secret'])], [true, true])
    shift += 61_000
    assert.deepEqual([await works(secret), await works(second['secret'])], [false, true])
    const third = await rotate({})
    const fourth = await rotate({})
    assert.deepEqual(
      [await works(second['secret']), await works(third['secret']), await works(fourth['secret'])],
      [false, true, true],
    )
    await call(204, 'DELETE', `/clients/${String(id)}/secrets/${String(fourth['id'])}`)
    await call(404, 'DELETE', `/clients/${String(id)}/secrets/${String(fourth['id'])}`)
    assert.equal(await works(fourth['secret']), false)
    await call(204, 'DELETE', `/clients/${String(id)}/secrets/${String(third['id'])}`)
    // It does not become a public client, which needs no secret.
    assert.equal(await works(third['secret']), false)
    assert.equal((await tokenOf(id)).status, 401)
  })

  test('a deleted app and its tokens are refused at once', async () => {
    const { id, secret } = await create()
    const { body } = await tokenOf(id, secret)
    const session = (): Promise<Response> =>
      service.fetch('/auth/session', { headers: { authorization: `Bearer ${String(body['access_token'])}` } })
    assert.equal((await session()).status, 200)
    await call(204, 'DELETE', `/clients/${String(id)}`)
    assert.equal((await session()).status, 401)
    assert.equal((await refresh(id, secret, body['refresh_token'])).status, 401)
    const live = await rowsOf(service, 'token_families', { client_id: String(id), revoked_at: null })
    assert.deepEqual(live, [])
    await call(404, 'GET', `/clients/${String(id)}`)
  })

  test('a scope that an app loses is lost at once, also for tokens that have it', async () => {
    const { id, secret } = await create({ clientCredentials: true, scopes: ['subscribers:read'] })
    const { body } = await exchange(service, {
      grant_type: 'client_credentials',
      client_id: String(id),
      client_secret: String(secret),
    })
    const headers = { authorization: `Bearer ${String(body['access_token'])}` }
    assert.equal((await service.fetch('/subscribers', { headers })).status, 200)
    await call(200, 'PATCH', `/clients/${String(id)}`, { scopes: ['orders:read'] })
    assert.equal((await service.fetch('/subscribers', { headers })).status, 403)
  })

  test('a changed redirect URI holds at once, for sign-ins and for calls of pages', async () => {
    const { id } = await create({ confidential: false, redirectUris: ['https://old.example/callback'] })
    const start = (uri: string): Promise<Response> =>
      service.fetch(
        `/auth/acme?client_id=${String(id)}&redirect_uri=${encodeURIComponent(uri)}&code_challenge_method=S256&code_challenge=${newPkce().challenge}`,
      )
    const origin = async (from: string): Promise<string | null> =>
      (await service.fetch('/oauth2/token', { method: 'OPTIONS', headers: { origin: from } })).headers.get(
        'access-control-allow-origin',
      )
    assert.equal((await start('https://old.example/callback')).status, 303)
    assert.equal(await origin('https://old.example'), 'https://old.example')
    const changed = await call(200, 'PATCH', `/clients/${String(id)}`, {
      redirectUris: ['https://new.example/callback'],
    })
    assert.equal(changed['name'], 'Notes')
    assert.equal((await start('https://old.example/callback')).status, 400)
    assert.equal((await start('https://new.example/callback')).status, 303)
    assert.equal(await origin('https://old.example'), null)
    assert.equal(await origin('https://new.example'), 'https://new.example')
  })

  test('a list walks over declared and stored apps, each once', async () => {
    for (let i = 0; i < 3; i += 1) await create()
    const seen: string[] = []
    let cursor = ''
    do {
      const page = (await call(200, 'GET', `/clients?limit=2${cursor}`)) as AnswerTo<'GET /clients'>
      seen.push(...page.data.map(({ id, declared }) => (declared ? `${id} declared` : id)))
      cursor =
        page.pageInfo.nextCursor === null ? '' : `&cursor=${encodeURIComponent(page.pageInfo.nextCursor)}`
    } while (cursor !== '')
    const rows = await service.database.reader.selectFrom('clients').select('id').execute()
    assert.deepEqual(seen.toSorted(), [...rows.map(({ id }) => id), 'spa declared'].toSorted())
  })

  test('a declared app is shown and cannot be changed', async () => {
    assert.equal((await call(200, 'GET', '/clients/spa'))['declared'], true)
    for (const [method, path, json] of [
      ['PATCH', '/clients/spa', { name: 'x' }],
      ['DELETE', '/clients/spa'],
      ['POST', '/clients/spa/secrets'],
    ] as const)
      assert.equal((await call(409, method, path, json))['code'], 'conflict')
  })

  test('a key with clients:write makes apps without special rights only', async () => {
    const keys = new ApiKeys(service.database, systemClock, createRecordAudit(systemClock))
    const { key } = await keys.create({ name: 'ci', scopes: ['clients:write'] }, {})
    const send = async (method: string, path: string, json: object): Promise<number> => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      return (await service.fetch(path, { method, headers, body: JSON.stringify(json) })).status
    }
    const plain = { name: 'plain', redirectUris }
    assert.equal(await send('POST', '/clients', plain), 201)
    for (const right of [
      { firstParty: true },
      { admin: true },
      { managesSessions: true },
      { scopes: ['openid', 'users:write'] },
      { clientCredentials: true },
      { clientCredentials: true, audience: 'https://billing.internal', scopes: ['billing:admin'] },
      { audience: 'https://billing.internal' },
      { audiences: [service.baseUrl, 'https://billing.internal'] },
      { scopes: ['openid', 'billing:admin'] },
    ]) {
      assert.equal(await send('POST', '/clients', { ...plain, ...right }), 403, JSON.stringify(right))
      const { id } = await create({ firstParty: false })
      assert.equal(await send('PATCH', `/clients/${String(id)}`, right), 403, JSON.stringify(right))
    }
    // Otherwise the key could make a secret for the machine client of an administrator.
    const { id: machine } = await create({ firstParty: false, clientCredentials: true })
    assert.equal(await send('POST', `/clients/${String(machine)}/secrets`, {}), 403)
    const { id: own } = await create({ firstParty: false })
    assert.equal(await send('PATCH', `/clients/${String(own)}`, { name: 'renamed' }), 200)
    assert.equal(await send('PATCH', `/clients/${String(own)}`, { admin: true }), 403)
    // Otherwise the key could send the codes of the product's own app elsewhere, or authenticate as it.
    const { id: ours } = await create()
    assert.equal(
      await send('PATCH', `/clients/${String(ours)}`, { redirectUris: ['https://evil.example/'] }),
      403,
    )
    assert.equal(await send('POST', `/clients/${String(ours)}/secrets`, {}), 403)
    const { rows } = await auditOf(String(ours))
    assert.ok(!rows.some(({ action }) => action === 'client.changed'))
  })

  test('wrong settings are refused as in the configuration', async () => {
    const wrong: [property: string, settings: object][] = [
      ['redirectUris', { redirectUris: ['javascript:alert(1)'] }],
      ['redirectUris', { redirectUris: ['https://app.example/#x'] }],
      ['redirectUris', { redirectUris: [] }],
      ['clientCredentials', { clientCredentials: true, confidential: false }],
      ['scopes', { scopes: ['two words'] }],
      ['jwks', { jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } }],
      ['audience', { audience: 'https://a.example https://b.example' }],
      ['backchannelLogoutUri', { backchannelLogoutUri: 'ftp://app.example/' }],
      ['postLogoutRedirectUris', { postLogoutRedirectUris: ['/bye'] }],
      ['audiences', { audiences: ['two words'] }],
      ['accessTokenLifetime', { accessTokenLifetime: 60.5 }],
      ['name', { name: '\u200b' }],
    ]
    for (const [property, settings] of wrong) {
      const problem = await call(400, 'POST', '/clients', { name: 'x', redirectUris, ...settings })
      assert.equal(problem['code'], 'invalid-body')
      // The form of the dashboard shows it beside this field.
      assert.match((problem['source'] as { pointer: string }).pointer, new RegExp(`^/${property}(?:/|$)`))
    }
  })

  test('a declared id in the form of a user id stops the start', async () => {
    const clients = [{ ...spa, id: '0197d2a4-5b1c-7000-9c3e-2f6a1b0c4d5e' }]
    await assert.rejects(startTestService(engine, { config: { login: { clients } } }), (error: Error) => {
      assert.ok(isConfigurationError(error))
      assert.match(error.message, /form of a user's id/)
      return true
    })
  })

  async function auditOf(id: string) {
    const rows = await rowsOf(service, 'audit_log', { target: `app:${id}` })
    return { rows }
  }
})
