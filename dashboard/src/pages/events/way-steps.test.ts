import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { EventDetail } from './use-event.ts'
import { lanesOf, scaleOf, type Lane } from './way-steps.ts'

const at = (seconds: number): string => new Date(Date.UTC(2026, 2, 10) + seconds * 1_000).toISOString()

const received = {
  direction: 'received',
  source: 'shop',
  createdAt: at(1),
  verification: { scheme: 'provider', signedAt: at(2), secret: null },
  processing: {
    failures: [{ number: 1, at: at(3), durationMs: 40, error: 'no stock\nat handler.ts' }],
    processedAt: null,
    nextAttemptAt: at(60),
    attempts: 1,
  },
  emitted: [],
  causes: [],
  returned: [],
  deliveries: [],
  emittedDeliveries: [],
} as unknown as EventDetail

const lanes = (change: object): Lane[] => lanesOf({ ...received, ...change })

describe('the timeline of an event', () => {
  test('shows the sender, the arrival, failed attempts and the next one', () => {
    const [sender, stored, handler] = lanes({})
    assert.equal(sender?.label, 'shop')
    assert.ok(sender.steps[0]!.from < sender.steps[0]!.to, 'also when the sender’s clock is ahead')
    assert.match(stored!.steps[0]!.text, /provider/)
    const steps = handler!.steps.map(({ tone, planned = false }) => [tone, planned])
    assert.deepEqual(steps, [
      ['danger', false],
      ['info', true],
    ])
    assert.doesNotMatch(handler!.steps[0]!.text, /handler\.ts/)
  })

  test('leaves out lines on which nothing happened', () => {
    const keys = lanes({ verification: null, processing: null }).map(({ key }) => key)
    assert.deepEqual(keys, ['stored'])
  })

  test('an attempt that got an answer without an error succeeded', () => {
    const attempt = { number: 1, at: at(4), durationMs: 9, status: 204, error: null, failure: null }
    const delivery = { id: 7, subscriberId: 's', subscriberDescription: null, subscriberHost: 'example.com' }
    const log = [attempt, { ...attempt, number: 2, status: 503, failure: 'server-error' }]
    const [lane] = lanes({
      direction: 'emitted',
      deliveries: [{ ...delivery, attemptLog: log, nextAttemptAt: null }],
    }).slice(1)
    assert.equal(lane?.label, 'example.com')
    assert.deepEqual(
      lane.steps.map(({ tone }) => tone),
      ['ok', 'danger'],
    )
  })

  test('its axis keeps the order of times, from 0 to 1, with few ticks', () => {
    const scale = scaleOf(lanes({}))
    const places = [at(1), at(2), at(3), at(60)].map((time) => scale.at(Date.parse(time)))
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    )
    assert.deepEqual([places[0], places.at(-1)], [0, 1])
    assert.ok(scale.ticks.length <= 6)
    assert.equal(scale.ticks[0]!.after, 0)
    assert.deepEqual(scaleOf([]).ticks, [{ at: 0, after: 0 }])
  })
})
