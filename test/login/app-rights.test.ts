// What the access tokens of an app may do, for whom they are, and how long they are good.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { onEachEngine, started, startedService, startTestService } from '#test/harness/index.ts'
import { startOAuthProvider } from '#test/harness/oauth-provider.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { ClientConfig } from '../../src/oauth2/clients/client.ts'
import { appCode, exchange, newPkce, codeGrant } from './harness.ts'
import { isConfigurationError } from '../harness/configuration-error.ts'
import { nextMinute } from '../harness/minute.ts'

const redirectUri = 'https://app.example.com/callback'
const api = 'https://api.example.com'

onEachEngine('rights of apps', (engine) => {
  let shift = 0
  let stoppedAt: number | undefined
  const both = [api]
  const app = (id: string, more: Partial<ClientConfig> = {}): ClientConfig => ({
    id,
    redirectUris: [redirectUri],
    ...more,
  })
  const provider = started(startOAuthProvider)
  const service = startedService(engine, () => ({
    env: {
      ...provider.env('ACME'),
      ADMIN_IDENTITIES: 'acme:boss',
      SESSION_IDLE: '300',
      RATE_LIMIT: 'on',
    },
    config: {
      login: {
        clients: [
          app('plain'),
          app('console', { admin: true }),
          app('for-the-api', { audience: api }),
          app('for-both', { audience: both }),
        ],
      },
    },
    parts: { clock: { ...systemClock, now: () => (stoppedAt ?? Date.now()) + shift } },
  }))

  async function tokensOf(clientId: string, id: string): Promise<Record<string, unknown>> {
    provider.profile = { id }
    const pkce = newPkce()
    const { status, body } = await exchange(
      service,
      codeGrant(await appCode(service, pkce, { client_id: clientId }), pkce, { client_id: clientId }),
    )
    assert.equal(status, 200)
    return body
  }
  const call = (token: unknown, path: string): Promise<Response> =>
    service.fetch(path, { headers: { authorization: `Bearer ${String(token)}` } })
  const roleWith = async (token: unknown): Promise<string> =>
    ((await (await call(token, '/auth/session')).json()) as { user: { role: string } }).user.role

  test("an admin's tokens have the role user, except for apps with `admin: true`", async () => {
    const { access_token: plain } = await tokensOf('plain', 'boss')
    const refused = await call(plain, '/audit')
    assert.equal(refused.status, 403)
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer error="insufficient_scope"')
    assert.equal(await roleWith(plain), 'user')
    const { access_token: console } = await tokensOf('console', 'boss')
    assert.equal((await call(console, '/audit')).status, 200)
    assert.equal(await roleWith(console), 'admin')
  })

  test("a user's tokens always have the role user", async () => {
    const { access_token: token } = await tokensOf('console', 'plain-user')
    assert.equal((await call(token, '/audit')).status, 403)
    assert.equal(await roleWith(token), 'user')
  })

  test('tokens have this service as audience by default, and tokens for other APIs are refused', async () => {
    const { access_token: own } = await tokensOf('plain', 'audience')
    assert.equal(decodeJwt(String(own)).aud, service.baseUrl)
    assert.equal((await call(own, '/auth/session')).status, 200)
    const { access_token: foreign } = await tokensOf('for-the-api', 'audience')
    assert.equal(decodeJwt(String(foreign)).aud, api)
    assert.equal((await call(foreign, '/auth/session')).status, 401)
    const { access_token: stranger } = await tokensOf('for-both', 'audience')
    assert.equal((await call(stranger, '/auth/session')).status, 401)
    both.push(service.baseUrl)
    const { access_token: shared } = await tokensOf('for-both', 'audience')
    assert.deepEqual(decodeJwt(String(shared)).aud, both)
    assert.equal((await call(shared, '/auth/session')).status, 200, 'a list may name this service too')
  })

  test('a token expires no later than the idle time of its sign-in', async () => {
    const { access_token: token, expires_in: seconds } = await tokensOf('plain', 'idle')
    const { iat, exp, sid } = decodeJwt<{ sid: string }>(String(token))
    assert.deepEqual([seconds, exp! - iat!], [300, 300])
    shift += 240_000
    assert.equal((await call(token, '/auth/session')).status, 200)
    // Were the token good for longer, its family would still be over.
    await service.database.transaction((tx) =>
      tx
        .updateTable('token_families')
        .set({ last_seen_at: Date.now() + shift - 300_001 })
        .where('id', '=', sid)
        .execute(),
    )
    assert.equal((await call(token, '/auth/session')).status, 401)
  })

  test('the rate limit of a refresh token does not depend on other fields', async () => {
    const { refresh_token: token } = await tokensOf('plain', 'counted')
    stoppedAt = nextMinute()
    const statuses: number[] = []
    for (let time = 0; time < 21; time += 1) {
      const { status } = await exchange(service, {
        grant_type: 'refresh_token',
        client_id: 'plain',
        refresh_token: String(token),
        code: `another ${time}`,
      })
      statuses.push(status)
    }
    stoppedAt = undefined
    assert.deepEqual([statuses.filter((status) => status === 200).length, statuses.at(-1)], [20, 429])
  })

  test('invalid settings are reported at the start', async () => {
    const clients = [
      app('a', { admin: 'yes' as unknown as boolean }),
      app('b', { audience: '' }),
      app('c', { audience: [] }),
    ]
    await assert.rejects(
      startTestService(engine, { config: { login: { clients } } }),
      (error) =>
        isConfigurationError(error) &&
        ['admin of a', 'audience of b', 'audience of c'].every((what) => error.message.includes(what)),
    )
  })
})
