// The concurrency and the rate of a subscriber hold for all processes on one PostgreSQL together.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Answer,
  each,
  type Engine,
  onPostgres,
  postgres,
  started,
  startReceiver,
} from '../harness/index.ts'
import { deliveries, emit, startEmitting, subscribe, until } from './harness.ts'

// One process works on an SQLite file.

describe('a subscriber of two processes', onPostgres, () => {
  const engine = postgres as Engine
  const home = started(() => engine.createMigratedDatabase())
  const start = () => started(() => startEmitting(engine, { databaseUrl: home.url }))
  const services = [start(), start()]

  test('the concurrency holds over both processes', async () => {
    const gate = Promise.withResolvers<void>()
    let running = 0
    let most = 0
    const slow: Answer = (response) => {
      most = Math.max(most, ++running)
      void gate.promise.then(() => {
        running -= 1
        response.writeHead(204).end()
      })
    }
    await using receiver = await startReceiver(slow)
    await subscribe(services[0]!, { url: receiver.url, concurrency: 3, eventTypes: ['slow'] })
    for (let n = 0; n < 20; n += 1) await emit(services[n % 2]!, { type: 'slow', data: n })
    await until(async () => most >= 3, 'all of its places are used')
    gate.resolve()
    await receiver.waitFor(20)
    assert.equal(most, 3)
  })

  test('the rate holds over both processes', async () => {
    await using receiver = await startReceiver()
    await subscribe(services[0]!, { url: receiver.url, rateLimit: 10, eventTypes: ['limited'] })
    // Not from the first call: a busy machine may deliver that one later than its turn.
    const began = Date.now()
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => emit(services[n % 2]!, { type: 'limited', data: n })),
    )
    const calls = await receiver.waitFor(20)
    const took = calls.at(-1)!.at - began
    assert.ok(took >= 850, `at most ten at once, ten more in a second: ${took} ms`)
  })

  // The last one, because it stops the services.
  test('scheduled events are sent once, whichever process scheduled them', async () => {
    await using receiver = await startReceiver()
    const { id } = await subscribe(services[0]!, { url: receiver.url, eventTypes: ['later'] })
    const count = 60
    const events = Array.from({ length: count }, (_, n) => ({ type: 'later', data: n, delay: 0.5 + n / 100 }))
    await Promise.all(events.map((event, n) => emit(services[n % 2]!, event)))
    await receiver.waitFor(count)
    const all = await until(async () => {
      const found = await deliveries(services[0]!, id, '?limit=100')
      return found.every(({ status }) => status === 'delivered') && found
    }, 'all attempts are recorded')
    assert.deepEqual([all.length, ...new Set(each(all, 'attemptCount'))], [count, 1])
    // A process that is sending one as well ends its attempt.
    await Promise.all(services.map((service) => service.stop(60_000)))
    const sent = receiver.calls.map(({ headers }) => headers['webhook-id'])
    assert.deepEqual([sent.length, new Set(sent).size], [count, count])
  })
})
