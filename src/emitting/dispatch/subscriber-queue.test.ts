import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint } from './endpoints.ts'
import { SubscriberPace, type ResponseClass } from './subscriber-pace.ts'
import { SubscriberQueue } from './subscriber-queue.ts'

interface Bounds {
  concurrency?: number
  rate?: number
  ordered?: boolean
}

function queueWith({ concurrency = 10, rate, ordered = false }: Bounds): SubscriberQueue {
  const queue = new SubscriberQueue('a', 1, 0, new SubscriberPace(() => 0.5))
  queue.endpoint = { concurrency, rate, ordered } as Endpoint
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
  queue.finish(ending, queue.pace.breaker.open, now)
}

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
  for (let n = 0; n < 8; n += 1) queue.finish('no-response', false, 0)
  assert.equal(queue.capacity(0), 1)
  for (const expected of [2, 4, 8, 8]) {
    begin(queue)
    queue.finish('answered', false, 0)
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
  queue.finish('no-response', true, 40_000)
  assert.equal(queue.waitTime(40_000), 10_000)
  fail(queue, 'answered', 50_000)
  assert.equal(queue.pace.breaker.open, false)
  assert.ok(queue.capacity(50_000) > 0)
})

test('a clock that is set back neither delays the next probe nor hides an outage', () => {
  const queue = queueWith({ concurrency: 8 })
  const hour = 3_600_000
  for (let n = 0; n < 20; n += 1) fail(queue, 'unavailable', hour + n * 1_000)
  for (let n = 0; n < 20; n += 1) fail(queue, 'unavailable', n * 1_000)
  assert.equal(queue.capacity(19_000), 0)
  fail(queue, 'answered', 30_000)
  for (let n = 0; n < 16; n += 1) fail(queue, 'unavailable', hour + n * 2_000)
  assert.equal(queue.capacity(0), 0)
  assert.ok(queue.waitTime(0)! <= 5_000)
  assert.equal(queue.capacity(5_000), 1)
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

test('a spent token is refilled over time, also while there is no endpoint', () => {
  const queue = queueWith({ rate: 0.5 })
  assert.equal(queue.pace.mustWaitForRate(0), false)
  fail(queue, 'answered', 0)
  queue.endpoint = undefined
  assert.equal(queue.pace.mustWaitForRate(1_999), true)
  assert.equal(queue.pace.mustWaitForRate(2_000), false)
  const free = queueWith({})
  fail(free, 'answered', 0)
  assert.equal(free.pace.mustWaitForRate(0), false)
})

test('an attempt from before the circuit breaker opened is no probe', () => {
  const queue = queueWith({ concurrency: 8 })
  begin(queue)
  for (let n = 0; n < 20; n += 1) fail(queue, 'unavailable', n)
  fail(queue, 'unavailable', 30_000)
  begin(queue, 35_000)
  queue.finish('no-response', false, 35_001)
  assert.equal(queue.capacity(39_000), 0, 'the probe is still in flight')
  queue.finish('no-response', true, 40_000)
  assert.equal(queue.waitTime(40_000), 10_000, 'one probe has failed')
})

test('while the rate and the circuit breaker block an attempt, the longer wait counts', () => {
  const queue = queueWith({ concurrency: 8, rate: 0.01 })
  for (let n = 0; n < 20; n += 1) {
    queue.firstAttempts.waiting.push(queued(false))
    queue.startNext(n * 2_000)
    queue.finish('unavailable', queue.pace.breaker.open, n * 2_000)
  }
  const opened = queue.waitTime(38_000)!
  assert.ok(opened > 60_000, `${opened} ms: the probe may start earlier, but the rate does not allow it`)
})

test('while the end of an attempt in flight must come first, no timer is needed', () => {
  const queue = queueWith({ concurrency: 1, rate: 1 })
  begin(queue)
  assert.equal(queue.capacity(0), 0)
  assert.equal(queue.waitTime(0), undefined)
})

test('a queue that is released and claimed again keeps its limits', () => {
  const pace = new SubscriberPace(() => 0.5)
  for (const [at, capacity] of [
    [0, 1],
    [1_000, 0],
    [99_000, 0],
    [100_000, 1],
  ] as const) {
    const queue = new SubscriberQueue('a', 1, at, pace)
    queue.endpoint = { concurrency: 10, rate: 0.01, ordered: false } as Endpoint
    queue.stale = false
    pace.resumed(at)
    assert.equal(queue.capacity(at), capacity, `${at}`)
    if (capacity > 0) fail(queue, 'answered', at)
  }
})

/** The next queue of a subscriber. */
function nextQueue({ pace, endpoint }: SubscriberQueue, now: number): SubscriberQueue {
  const queue = new SubscriberQueue('a', 2, now, pace)
  queue.endpoint = endpoint
  queue.stale = false
  pace.resumed(now)
  return queue
}

test('the end of a probe of a dropped queue is not that of the next queue', () => {
  const queue = queueWith({ concurrency: 8 })
  for (let n = 0; n <= 15; n += 1) fail(queue, 'unavailable', n * 2_000)
  begin(queue, 40_000)
  assert.equal(queue.capacity(40_000), 0, 'its probe is in flight')
  queue.drop()
  const next = nextQueue(queue, 40_000)
  assert.equal(next.capacity(40_000), 1, 'the probe may never end')
  begin(next, 40_000)
  queue.finish('aborted', true, 41_000)
  assert.equal(next.capacity(41_000), 0)
  next.finish('no-response', true, 42_000)
  assert.equal(next.waitTime(42_000), 10_000)
})

test('failures of long ago do not open the circuit breaker when a queue is claimed again', () => {
  for (const [after, open] of [
    [60_000, true],
    [3_600_000, false],
  ] as const) {
    const queue = queueWith({ concurrency: 8 })
    for (let n = 0; n < 9; n += 1) fail(queue, 'unavailable', n)
    queue.drop()
    const next = nextQueue(queue, after)
    fail(next, 'unavailable', after)
    assert.equal(next.pace.breaker.open, open, `${after}`)
  }
})
