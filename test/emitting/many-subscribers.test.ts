// More subscribers with due deliveries than one process has queues: they take turns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engines, startReceiver } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'
import { emit, startEmitting, subscribe } from './harness.ts'

/** A process has 512 queues. */
const subscribers = 530
/** An attempt in a hundred seconds. */
const rateLimit = 0.01

// Each queue is claimed on PostgreSQL; whose turn it is, a process knows by itself.
for (const engine of engines.slice(-1))
  test('of more subscribers than queues each gets a call, and a rate limit outlives the turn of a queue', async () => {
    await using service = await startEmitting(engine)
    await using receiver = await startReceiver()
    await Promise.all(
      Array.from({ length: subscribers }, (_, n) =>
        subscribe(service, { url: `${receiver.url}/${n}`, eventTypes: ['many'], rateLimit }),
      ),
    )
    for (let n = 0; n < 2; n += 1) await emit(service, { type: 'many', data: n })
    const called = () => new Set(receiver.calls.map(({ path }) => path)).size
    // A busy machine takes its time for so many attempts.
    await eventually(() => called() === subscribers, 'each is called', 300_000)
    // Then come some more turns, in which a queue that forgot its limit would send the second event.
    let more = 0
    await eventually(() => (more += 1) > 100, 'a hundred looks')
    for (const [path, [first, second]] of Map.groupBy(receiver.calls, ({ path: called }) => called)) {
      const apart = second ? second.at - first!.at : Infinity
      assert.ok(
        apart > 50_000,
        `${path} got two calls within ${apart} ms: ${String(first!.body)} and ${String(second?.body)}`,
      )
    }
  })
