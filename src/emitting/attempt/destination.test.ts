import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import type { DestinationContext, DestinationEvent } from '../config.ts'
import { type DestinationCall, deliverTo } from './special-endpoint.ts'

const event = {
  event_id: 'one',
  type: 'order.paid',
  payload: Buffer.from('{"id":"one","type":"order.paid","timestamp":"2026-01-01T00:00:00.000Z","data":1}'),
  audience: null,
  nonce: null,
  headers: null,
}

function callOf(deliver: (event: DestinationEvent, context: DestinationContext) => unknown): DestinationCall {
  const declared = { validate: () => undefined, deliver }
  return { declared, settings: {}, secrets: {}, subscriber: { id: 's', owner: null }, overdue: 0 }
}

test('calls that ignore their signal are limited, until they end', async () => {
  const clock = new ManualClock()
  const hanging = Promise.withResolvers<void>()
  let calls = 0
  const call = callOf(() => (calls += 1) && hanging.promise)
  const attempt = () =>
    deliverTo(call, event, { headers: {}, number: 1, timeout: 1_000, clock }, new AbortBroadcast())
  const started = Array.from({ length: 100 }, attempt)
  clock.pass(1_000)
  for (const { failure, durationMs } of await Promise.all(started))
    assert.deepEqual([failure, durationMs], ['destination-timeout', 1_000])
  const { failure, error } = await attempt()
  assert.deepEqual(
    [failure, error, calls],
    ['destination-timeout', '100 earlier calls exceeded the timeout of 1 s and are still running', 100],
  )
  hanging.resolve()
  await hanging.promise
  assert.equal((await attempt()).error, null)
  assert.equal(call.overdue, 0)
})

test('a stop aborts the signal, and rejects with its reason', async () => {
  const cut = new AbortBroadcast()
  let signal: AbortSignal | undefined
  const call = callOf((_event, context) => {
    signal = context.signal
    return new Promise((_resolve, reject) => {
      context.signal.addEventListener('abort', () => reject(context.signal.reason as Error))
    })
  })
  const sending = { headers: {}, number: 1, timeout: 1_000, clock: new ManualClock() }
  const attempt = deliverTo(call, event, sending, cut)
  cut.abort(new Error('stopping'))
  await assert.rejects(attempt, /stopping/)
  assert.equal(signal?.aborted, true)
})

test('the payload is a copy, and results that are no JSON are not shown', async () => {
  const circular: { self?: object } = {}
  circular.self = circular
  const results = [circular, 1n, undefined, 'text', { a: 'x'.repeat(10_000) }]
  const call = callOf(({ payload, timestamp }) => {
    assert.equal(timestamp, '2026-01-01T00:00:00.000Z')
    payload.fill(0)
    return results.shift()
  })
  const shown: unknown[] = []
  for (let n = 0; n < 5; n += 1) {
    const sending = { headers: {}, number: 1, timeout: 1_000, clock: new ManualClock() }
    const { responseBody } = await deliverTo(call, event, sending, new AbortBroadcast())
    shown.push(
      responseBody && responseBody.length < 100 ? Buffer.from(responseBody).toString() : responseBody?.length,
    )
  }
  assert.deepEqual(shown, [undefined, undefined, undefined, 'text', 4_096])
})
