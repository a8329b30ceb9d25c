// More subscribers with due deliveries than one process has queues: they take turns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { onEachEngine } from '../harness/engines.ts'
import { startReceiver } from '../harness/receiver.ts'
import { eventually } from '../receiving/harness.ts'
import { emit, startEmitting, subscribe } from './harness.ts'

/** A process has 512 queues. */
const subscribers = 530
/** An attempt in a hundred seconds. */
const rateLimit = 0.01
/** Milliseconds of the service's time: long enough for many turns, and too short for a second attempt. */
const period = 90_000

onEachEngine('more subscribers than queues', (engine) => {
  test('each gets a call, and a rate limit outlives the turn of a queue', async () => {
    const began = Date.now()
    let passed = 0
    const clock = { ...systemClock, now: () => began + passed }
    const [service, receiver] = await Promise.all([
      startEmitting(engine, { parts: { clock } }),
      startReceiver(),
    ])
    for (let n = 0; n < subscribers; n += 1)
      await subscribe(service, { url: `${receiver.url}/${n}`, eventTypes: ['many'], rateLimit })
    for (let n = 0; n < 2; n += 1) await emit(service, { type: 'many', data: n })
    const called = (): Set<string> => new Set(receiver.calls.map(({ path }) => path))
    let more = 0
    await eventually(() => {
      passed = Math.min(passed + 500, period)
      // Then come some more turns.
      if (called().size === subscribers) more += 1
      return more > 10
    })
    assert.equal(receiver.calls.length, subscribers, 'no subscriber got a second call')
    await Promise.all([service.close(), receiver.close()])
  })
})
