// More subscribers with due deliveries than one process has queues: they take turns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, startReceiver } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'
import { emit, startEmitting, subscribe } from './harness.ts'

/** A process has 512 queues. */
const subscribers = 530
/** An attempt in a hundred seconds. */
const rateLimit = 0.01

onEachEngine('more subscribers than queues', (engine) => {
  test('each gets a call, and a rate limit outlives the turn of a queue', async () => {
    await using service = await startEmitting(engine)
    await using receiver = await startReceiver()
    await Promise.all(
      Array.from({ length: subscribers }, (_, n) =>
        subscribe(service, { url: `${receiver.url}/${n}`, eventTypes: ['many'], rateLimit }),
      ),
    )
    for (let n = 0; n < 2; n += 1) await emit(service, { type: 'many', data: n })
    let more = 0
    await eventually(() => {
      const called = new Set(receiver.calls.map(({ path }) => path))
      // Then come some more turns.
      if (called.size === subscribers) more += 1
      return more > 100
    })
    for (const [path, [first, second]] of Map.groupBy(receiver.calls, ({ path: called }) => called)) {
      const apart = second ? second.at - first!.at : Infinity
      assert.ok(
        apart > 50_000,
        `${path} got two calls within ${apart} ms: ${String(first!.body)} and ${String(second?.body)}`,
      )
    }
  })
})
