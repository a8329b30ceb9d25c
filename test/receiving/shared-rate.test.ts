// The rate that a source declares holds for all processes on one PostgreSQL together.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { hmac } from '../../src/index.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { each, type Engine, onPostgres, postgres, type TestDatabase } from '../harness/index.ts'
import { startTestService, type TestService, webhookSecret } from '../harness/service.ts'
import { postWebhook } from './harness.ts'

// One process works on an SQLite file.

describe('the rate of a source over two processes', onPostgres, () => {
  const engine = postgres as Engine
  let home: TestDatabase
  let services: TestService[]
  let now = 1_000_000_000_000
  let sent = 0
  before(async () => {
    home = await engine.createMigratedDatabase()
    services = []
    // A table that a busy machine reads in a second has not failed to respond.
    const after: Clock['after'] = (ms, callback) => systemClock.after(ms === 1_000 ? 60_000 : ms, callback)
    const source = (rateLimit?: number) =>
      hmac({ header: 'x-signature', secret: webhookSecret, ...(rateLimit !== undefined && { rateLimit }) })
    for (let process = 0; process < 2; process += 1)
      services.push(
        await startTestService(engine, {
          databaseUrl: home.url,
          receiving: {
            sources: {
              five: source(5),
              many: source(100),
              away: source(3),
              cold: source(40),
              free: source(),
            },
          },
          parts: { clock: { ...systemClock, now: () => now, after } },
        }),
      )
  })
  after(async () => {
    await Promise.all(services.map((service) => service.close()))
    await home.drop()
  })
  const post = (source: string, process: number): Promise<Response> =>
    postWebhook(services[process]!, { id: `event-${(sent += 1)}`, type: 'a' }, {}, source)
  async function accepted(source: string, count: number): Promise<number> {
    let accepted = 0
    for (let index = 0; index < count; index += 1) {
      const { status } = await post(source, index % 2)
      assert.ok(status === 200 || status === 429, `${status}`)
      if (status === 200) accepted += 1
    }
    return accepted
  }
  const pool = () => (services[0]!.database as PostgresDatabase).pool

  test('allows a burst of one second, then the rate, over both processes', async () => {
    assert.equal(await accepted('five', 14), 5)
    now += 400
    assert.equal(await accepted('five', 6), 2)
    now += 10_000
    const response = await post('five', 1)
    assert.equal(response.headers.get('ratelimit-limit'), '5')
    assert.equal(response.headers.get('ratelimit-remaining'), '4')
  })

  test('the same for concurrent events and for reservations ahead', async () => {
    const burst = await Promise.all(Array.from({ length: 60 }, (_, index) => post('cold', index % 2)))
    const taken = burst.filter(({ status }) => status === 200).length
    // When the last requests come, each process may have four events reserved that the other one lacks.
    assert.ok(taken <= 40 && taken >= 32, `${taken} accepted`)
    assert.equal(await accepted('many', 150), 100)
  })

  test('a source without a rate makes no queries', async () => {
    assert.equal(await accepted('free', 10), 10)
    const { rows } = await pool().query<{ source: string }>('select source from source_rates order by source')
    assert.deepEqual(each(rows, 'source'), ['cold', 'five', 'many'])
  })

  test('if the table does not respond, each process applies the rate alone', async () => {
    await pool().query('alter table source_rates rename to source_rates_away')
    try {
      assert.equal(await accepted('away', 16), 6)
    } finally {
      await pool().query('alter table source_rates_away rename to source_rates')
    }
  })
})
