// Groups 12 and 15, as far as they are about apps: stolen refresh tokens. Stolen codes are in provider-codes.test.ts.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { Browser, onEachEngine, rowIn, rowsOf, started, startTestService } from '#test/harness/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { accountsOf, appStart, exchange, newPkce, spa, codeGrant } from '../login/harness.ts'
import { signInAs } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

const redirectUri = spa.redirectUris[0]!

onEachEngine('credentials of apps', (engine) => {
  let shift = 0
  let stoppedAt: number | undefined
  const provider = started(startHonestProvider)
  const service = started(async () => {
    const clock = { ...systemClock, now: () => (stoppedAt ?? Date.now()) + shift }
    const config = { login: { clients: [spa] } }
    const env = { ...provider.env('ACME'), TRUSTED_PROXIES: '127.0.0.1' }
    return startTestService(engine, { env, config, parts: { clock } })
  })
  beforeEach(() => {
    shift = 0
    stoppedAt = undefined
  })

  async function begun(person: string): Promise<{ code: string; verifier: string }> {
    const pkce = newPkce()
    const target = await signInAs(service, new Browser(), provider, person, appStart(pkce))
    return { code: new URL(target).searchParams.get('code')!, verifier: pkce.verifier }
  }
  const redeem = (code: string, verifier: string) =>
    exchange(service, codeGrant(code, { verifier }, { redirect_uri: redirectUri }))
  const refresh = (token: unknown) =>
    exchange(service, { grant_type: 'refresh_token', client_id: 'spa', refresh_token: String(token) })
  async function tokensOf(person: string): Promise<Record<string, unknown>> {
    const { code, verifier } = await begun(person)
    const { status, body } = await redeem(code, verifier)
    assert.equal(status, 200)
    return body
  }
  const userOf = async (person: string): Promise<string> => {
    const row = await rowIn(service, 'identities', { provider_id: person })
    return row.user_id
  }
  /** The newest entry about somebody, in short. */
  async function told(person: string): Promise<unknown> {
    const row = await service.database.reader
      .selectFrom('audit_log')
      .select(['action', 'code', 'target', 'detail'])
      .where('user_id', '=', await userOf(person))
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow()
    return [row.action, row.code, row.target]
  }
  const isRefused = ({ status, body }: { status: number; body: Record<string, unknown> }): void =>
    assert.deepEqual([status, body['error']], [400, 'invalid_grant'])
  const works = async (access: unknown): Promise<boolean> => {
    const headers = { authorization: `Bearer ${String(access)}` }
    return (await service.fetch('/auth/session', { headers })).status === 200
  }

  test('an unknown refresh token is rejected, and recorded without an account', async () => {
    const before = await accountsOf(service)
    isRefused(await refresh(`rt_${'A'.repeat(43)}`))
    isRefused(await refresh('\0'))
    assert.deepEqual(await accountsOf(service), before)
    const rows = await service.database.reader
      .selectFrom('audit_log')
      .select(['code', 'target'])
      .where('action', '=', 'tokens.refused')
      .where('user_id', 'is', null)
      .execute()
    assert.equal(rows.length, 2)
    for (const row of rows) assert.deepEqual({ ...row }, { code: 'invalid-grant', target: 'app:spa' })
  })

  test('five uses at once each get a token of their own; a use after the grace period revokes the family', async () => {
    const first = await tokensOf('copied')
    const answers = await Promise.all(Array.from({ length: 5 }, () => refresh(first['refresh_token'])))
    for (const { status } of answers) assert.equal(status, 200)
    assert.equal(new Set(answers.map(({ body }) => body['refresh_token'])).size, 5)
    const thief = answers[0]!.body
    assert.ok(await works(thief['access_token']))
    shift = 10_001
    isRefused(await refresh(first['refresh_token']))
    isRefused(await refresh(thief['refresh_token']))
    assert.ok(!(await works(thief['access_token'])))
    assert.ok(!(await works(first['access_token'])))
  })

  test('a replay within the grace period, after its successor was used, revokes the family', async () => {
    const first = await tokensOf('forked')
    stoppedAt = Date.now()
    const { body: second } = await refresh(first['refresh_token'])
    const { body: third } = await refresh(second['refresh_token'])
    assert.ok(await works(third['access_token']))
    shift = 5_000
    isRefused(await refresh(first['refresh_token']))
    assert.ok(!(await works(third['access_token'])))
    isRefused(await refresh(third['refresh_token']))
  })

  for (const [name, firstOfThem] of [
    ['the owner', 0],
    ['the thief', 1],
  ] as const) {
    test(`two callers that share a token in the grace period: ${name} refreshes first, and the other's next use revokes the family`, async () => {
      const first = await tokensOf(`shared, ${name} first`)
      const both: unknown[] = []
      stoppedAt = Date.now()
      for (let time = 0; time < 2; time += 1) {
        const { status, body } = await refresh(first['refresh_token'])
        assert.equal(status, 200)
        both.push(body['refresh_token'])
        shift += 2_000
      }
      const { status, body: next } = await refresh(both[firstOfThem])
      assert.equal(status, 200)
      assert.ok(await works(next['access_token']))
      // At once: no grace hides it.
      isRefused(await refresh(both[1 - firstOfThem]))
      assert.ok(!(await works(next['access_token'])))
      isRefused(await refresh(next['refresh_token']))
      const rows = await rowsOf(service, 'audit_log', {
        user_id: await userOf(`shared, ${name} first`),
        action: 'tokens.revoked',
      })
      assert.deepEqual(
        rows.map(({ detail }) => detail),
        ['{"reason":"reuse"}'],
      )
    })
  }

  test('a token is accepted twenty times within the grace period, then its family is revoked', async () => {
    const { refresh_token: token } = await tokensOf('replayed')
    // The grace period lasts ten seconds.
    stoppedAt = Date.now()
    for (let time = 0; time < 21; time += 1) assert.equal((await refresh(token)).status, 200, `${time}`)
    isRefused(await refresh(token))
    assert.deepEqual(await told('replayed'), ['tokens.refused', 'invalid-grant', 'app:spa'])
  })

  test('a repeated use from another address is recorded, from the same address it is not', async () => {
    const from = async (address: string, token: unknown): Promise<unknown> => {
      const response = await service.fetch('/auth/token', {
        method: 'POST',
        headers: { 'x-forwarded-for': address },
        body: new URLSearchParams({
          grant_type: 'refresh_token',
          client_id: 'spa',
          refresh_token: String(token),
        }),
      })
      assert.equal(response.status, 200)
      return response.json()
    }
    const { refresh_token: token } = await tokensOf('moved')
    stoppedAt = Date.now()
    for (const address of ['192.0.2.1', '192.0.2.1', '198.51.100.7']) await from(address, token)
    const rows = await rowsOf(service, 'audit_log', {
      user_id: await userOf('moved'),
      action: 'tokens.reused',
    })
    assert.deepEqual(
      rows.map(({ target, address, code }) => [target, address, code]),
      [['app:spa', '198.51.100.7', null]],
    )
  })

  test('after a block a refresh token is rejected, and the attempt is recorded', async () => {
    const { refresh_token: token } = await tokensOf('banned')
    const id = await userOf('banned')
    await service.admin(`/users/${id}`, { method: 'PATCH', json: { blocked: true } })
    const before = await accountsOf(service)
    isRefused(await refresh(token))
    assert.deepEqual(await told('banned'), ['tokens.refused', 'invalid-grant', 'app:spa'])
    assert.deepEqual(await accountsOf(service), before)
  })

  test('no kind of token is accepted as another kind', async () => {
    const { access_token: access, refresh_token: token } = await tokensOf('kinds')
    const { code, verifier } = await begun('kinds')
    for (const value of [access, code]) isRefused(await refresh(value))
    isRefused(await redeem(String(token), verifier))
    for (const bearer of [token, code]) assert.ok(!(await works(bearer)))
    assert.equal((await redeem(code, verifier)).status, 200, 'none of it was spent by that')
  })
})
