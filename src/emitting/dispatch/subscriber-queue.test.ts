import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Destination } from './destinations.ts'
import { SubscriberQueue, type ResponseClass } from './subscriber-queue.ts'

interface Bounds {
  concurrency?: number
  rate?: number
  ordered?: boolean
}

function queueWith({ concurrency = 10, rate, ordered = false }: Bounds): SubscriberQueue {
  const queue = new SubscriberQueue('a', 1, 0, () => 0.5)
  queue.destination = { concurrency, rate, ordered } as Destination
  queue.stale = false
  return queue
}

let ids = 0
const queued = (retry: boolean) => ({
  delivery: {
    id: (ids += 1),
    event: 1,
    subscriberId: 'a',
    number: retry ? 2 : 1,
    begun: 1,
    dueAt: 0,
    nonce: 1,
  },
  payload: undefined,
})

function begin(queue: SubscriberQueue, now = 0): void {
  queue.firstAttempts.waiting.push(queued(false))
  assert.ok(queue.startNext(now))
}

function fail(queue: SubscriberQueue, ending: ResponseClass, now: number): void {
  begin(queue, now)
  queue.finish(ending, now)
}

test('concurrent attempts are limited by the concurrency', () => {
  const queue = queueWith({ concurrency: 2 })
  assert.equal(queue.capacity(0), 2)
  begin(queue)
  begin(queue)
  assert.equal(queue.capacity(0), 0)
  queue.finish('answered', 0)
  assert.equal(queue.capacity(0), 1)
})

test('no attempt starts while the subscriber has to be read again', () => {
  const queue = queueWith({})
  queue.stale = true
  assert.equal(queue.capacity(0), 0)
})

test('the rate is a token bucket with the tokens of one second', () => {
  const queue = queueWith({ concurrency: 100, rate: 2 })
  assert.equal(queue.capacity(0), 1, 'the previous owner of the queue may have spent the rest')
  fail(queue, 'answered', 0)
  assert.equal(queue.capacity(0), 0)
  assert.equal(queue.waitTime(0), 500)
  assert.equal(queue.capacity(500), 1)
  assert.equal(queue.waitTime(500), undefined)
  assert.equal(queue.capacity(60_000), 2)
})

test('a rate below one per second still allows one delivery', () => {
  const queue = queueWith({ concurrency: 1, rate: 0.1 })
  assert.equal(queue.capacity(0), 1)
  fail(queue, 'answered', 0)
  assert.equal(queue.capacity(9_000), 0)
  assert.equal(queue.capacity(10_000), 1)
})

test('concurrency is reduced down to one while a subscriber does not respond', () => {
  const queue = queueWith({ concurrency: 8 })
  for (let n = 0; n < 8; n += 1) begin(queue)
  for (let n = 0; n < 8; n += 1) queue.finish('no-response', 0)
  assert.equal(queue.capacity(0), 1)
  for (const expected of [2, 4, 8, 8]) {
    begin(queue)
    queue.finish('answered', 0)
    assert.equal(queue.capacity(0), expected)
  }
})

test('when few slots are left, only subscribers without an attempt in flight get one', () => {
  const queue = queueWith({ concurrency: 8 })
  assert.equal(queue.capacity(0, true), 1)
  begin(queue)
  assert.equal(queue.capacity(0, true), 0)
  assert.equal(queue.capacity(0), 7)
})

test('many retries do not delay new deliveries, and the reverse', () => {
  const queue = queueWith({})
  for (let n = 0; n < 8; n += 1) queue.retries.waiting.push(queued(true))
  for (let n = 0; n < 8; n += 1) queue.firstAttempts.waiting.push(queued(false))
  const begun = Array.from({ length: 16 }, () => queue.startNext(0)!.delivery.number)
  assert.deepEqual(begun, [1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 2, 2, 2, 2, 2, 2])
})

test('a subscriber that is down is probed by one attempt at a time, with growing delays', () => {
  const queue = queueWith({ concurrency: 8 })
  for (let n = 0; n < 20; n += 1) fail(queue, 'unavailable', n)
  assert.equal(queue.capacity(20), 8, 'a moment is no outage')
  fail(queue, 'unavailable', 30_000)
  assert.equal(queue.capacity(30_000), 0)
  assert.equal(queue.waitTime(30_000), 5_000)
  assert.equal(queue.capacity(35_000), 1)
  begin(queue, 35_000)
  assert.equal(queue.capacity(35_000), 0, 'one probe at a time')
  queue.finish('no-response', 40_000)
  assert.equal(queue.waitTime(40_000), 10_000)
  fail(queue, 'answered', 50_000)
  assert.equal(queue.breaker.open, false)
  assert.ok(queue.capacity(50_000) > 0)
})

test('an error response does not count as an outage', () => {
  const queue = queueWith({ concurrency: 8 })
  for (let n = 0; n < 100; n += 1) fail(queue, 'answered', n * 1_000)
  assert.equal(queue.capacity(100_000), 8)
})

test('an ordered queue is not probed; its first delivery is retried by the schedule', () => {
  const queue = queueWith({ concurrency: 1, ordered: true })
  for (let n = 0; n < 100; n += 1) fail(queue, 'unavailable', n * 1_000)
  assert.equal(queue.capacity(100_000), 1)
})

test('a spent token is refilled over time, also while there is no destination', () => {
  const queue = queueWith({ rate: 0.5 })
  assert.equal(queue.mustWaitForRate(0), false)
  fail(queue, 'answered', 0)
  queue.destination = undefined
  assert.equal(queue.mustWaitForRate(1_999), true)
  assert.equal(queue.mustWaitForRate(2_000), false)
  const free = queueWith({})
  fail(free, 'answered', 0)
  assert.equal(free.mustWaitForRate(0), false)
})
