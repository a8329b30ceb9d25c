// More subscribers with due deliveries than one process has queues: they take turns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { onEachEngine } from '../harness/engines.ts'
import { startReceiver, type Receiver } from '../harness/receiver.ts'
import { emit, startEmitting, subscribe } from './harness.ts'

/** A process has 512 queues. */
const subscribers = 530
/** An attempt in ten seconds. */
const rateLimit = 0.1

/** The times of the calls of each subscriber. */
function callsOf({ calls }: Receiver): Map<string, number[]> {
  return new Map(
    [...Map.groupBy(calls, ({ path }) => path)].map(([path, some]) => [path, some.map(({ at }) => at)]),
  )
}

onEachEngine('more subscribers than queues', (engine) => {
  test('each gets its deliveries, and a rate limit outlives the turn of a queue', async () => {
    const [service, receiver] = await Promise.all([startEmitting(engine), startReceiver()])
    for (let n = 0; n < subscribers; n += 1)
      await subscribe(service, { url: `${receiver.url}/${n}`, eventTypes: ['many'], rateLimit })
    for (let n = 0; n < 2; n += 1) await emit(service, { type: 'many', data: n })
    const began = performance.now()
    while (callsOf(receiver).size < subscribers) {
      assert.ok(performance.now() - began < 300_000, `${callsOf(receiver).size} subscribers got a call`)
      await wait(100)
    }
    // Some more turns.
    await wait(3_000)
    for (const [path, times] of callsOf(receiver))
      for (const [index, at] of times.entries())
        assert.ok(index === 0 || at - times[index - 1]! > 5_000, `${path} got calls at ${times.join(', ')}`)
    await Promise.all([service.close(), receiver.close()])
  })
})
