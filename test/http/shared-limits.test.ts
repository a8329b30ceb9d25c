// Limits of sign-ins and tokens hold for all processes on one PostgreSQL together.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { sql } from 'kysely'
import { systemClock } from '../../src/runtime/clock.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { type Engine, onPostgres, postgres, type TestDatabase } from '../harness/engines.ts'
import { startOAuthProvider, type OAuthProvider } from '../harness/oauth-provider.ts'
import { plainRequest } from '../harness/plain-request.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { appCode, exchange, newPkce, spa, codeGrant } from '../login/harness.ts'

// One process works on an SQLite file.
const minute = 60_000

describe('limits of two processes', onPostgres, () => {
  const engine = postgres as Engine
  let provider: OAuthProvider
  let home: TestDatabase
  let services: TestService[]
  // Each test has minutes of its own.
  let now = Math.ceil(Date.now() / minute) * minute
  before(async () => {
    provider = await startOAuthProvider()
    home = await engine.createMigratedDatabase()
    services = []
    for (let process = 0; process < 2; process += 1)
      services.push(
        await startTestService(engine, {
          databaseUrl: home.url,
          env: {
            ...provider.env('ACME'),
            RATE_LIMIT: 'on',
            TRUSTED_PROXIES: '127.0.0.1',
            ...(services[0] && { BASE_URL: services[0].baseUrl }),
          },
          config: { login: { clients: [spa] } },
          parts: { clock: { ...systemClock, now: () => now } },
        }),
      )
  })
  beforeEach(() => void (now += 3 * minute))
  after(async () => {
    await Promise.all(services.map((service) => service.close()))
    await home.drop()
    await provider.close()
  })

  /** A call as a proxy that TRUSTED_PROXIES names passes it on. */
  async function from(address: string, path: string, process: number) {
    const headers = { 'x-forwarded-for': address, host: new URL(services[0]!.baseUrl).host }
    const answer = await plainRequest(services[process]!.app.listeningOrigin, path, { headers })
    return { status: answer.status, remaining: Number(answer.headers['ratelimit-remaining']) }
  }
  const database = (): PostgresDatabase => services[0]!.database as PostgresDatabase
  const counted = async (): Promise<number> =>
    (await sql`select from call_counts`.execute(database().reader)).rows.length

  test('an address can start 300 sign-ins in a minute over both processes', async () => {
    let begun = 0
    for (let index = 0; index < 400; index += 1)
      if ((await from('198.51.100.1', '/auth/acme', index % 2)).status === 303) begun += 1
    assert.equal(begun, 300)
    assert.equal((await from('198.51.100.2', '/auth/acme', 0)).remaining, 299, 'others have their own')
    assert.equal((await from('198.51.100.2', '/auth/acme', 1)).remaining, 298)
    now += 2 * minute
    assert.equal((await from('198.51.100.1', '/auth/acme', 1)).status, 303)
  })

  test('20 exchanges of a refresh token and 30 callbacks of a state over both processes', async () => {
    const pkce = newPkce()
    const { body } = await exchange(services[0]!, codeGrant(await appCode(services[0]!, pkce), pkce))
    const token = {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: String(body['refresh_token']),
    }
    const statuses: number[] = []
    const exchangeAt = (process: number): Promise<{ status: number }> =>
      exchange({ ...services[process]!, baseUrl: services[process]!.app.listeningOrigin }, token)
    for (let index = 0; index < 25; index += 1) statuses.push((await exchangeAt(index % 2)).status)
    assert.equal(statuses.filter((status) => status === 429).length, 5)

    const back: number[] = []
    for (let index = 0; index < 35; index += 1) {
      const path = `/auth/acme/callback?code=x&state=${'x'.repeat(43)}`
      back.push((await from(`203.0.113.${index}`, path, index % 2)).status)
    }
    assert.equal(back.filter((status) => status === 429).length, 5)
  })

  test('stored keys do not reveal addresses, and old rows are removed', async () => {
    await from('198.51.100.77', '/auth/acme', 0)
    const { rows } = await sql<{ key: string }>`select key from call_counts`.execute(database().reader)
    assert.ok(rows.length > 0)
    assert.ok(rows.every(({ key }) => /^[\w-]{43}$/.test(key)))
    now += 3 * minute
    await from('198.51.100.78', '/auth/acme', 1)
    assert.equal(await counted(), 1, 'only that of this minute')
  })

  test('other calls are counted by process without writes', async () => {
    const before = await counted()
    for (let index = 0; index < 10; index += 1) await from('198.51.100.5', '/healthz', index % 2)
    assert.equal((await from('198.51.100.5', '/healthz', 0)).remaining, 2_994)
    assert.equal(await counted(), before)
  })

  test('if the table does not respond, each process counts alone', async () => {
    await database().pool.query('alter table call_counts rename to call_counts_away')
    try {
      const statuses: number[] = []
      for (let index = 0; index < 310; index += 1)
        statuses.push((await from('198.51.100.6', '/auth/acme', 0)).status)
      assert.equal(statuses.filter((status) => status === 303).length, 300)
      assert.equal((await from('198.51.100.6', '/auth/acme', 1)).status, 303)
    } finally {
      await database().pool.query('alter table call_counts_away rename to call_counts')
    }
  })
})
