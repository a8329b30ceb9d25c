import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Destination } from './destinations.ts'
import { Lane, type Ending } from './lanes.ts'

interface Bounds {
  concurrency?: number
  rate?: number
  ordered?: boolean
}

function laneWith({ concurrency = 10, rate, ordered = false }: Bounds): Lane {
  const lane = new Lane('a', 1, 0, () => 0.5)
  lane.destination = { concurrency, rate, ordered } as Destination
  lane.stale = false
  return lane
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

function begin(lane: Lane, now = 0): void {
  lane.fresh.waiting.push(queued(false))
  assert.ok(lane.begin(now))
}

function fail(lane: Lane, ending: Ending, now: number): void {
  begin(lane, now)
  lane.end(ending, now)
}

test('no more attempts at a time than the concurrency allows', () => {
  const lane = laneWith({ concurrency: 2 })
  assert.equal(lane.room(0), 2)
  begin(lane)
  begin(lane)
  assert.equal(lane.room(0), 0)
  lane.end('answered', 0)
  assert.equal(lane.room(0), 1)
})

test('nothing begins while the subscriber is to be read again', () => {
  const lane = laneWith({})
  lane.stale = true
  assert.equal(lane.room(0), 0)
})

test('a rate is a budget that comes back with time, a second’s worth at most', () => {
  const lane = laneWith({ concurrency: 100, rate: 2 })
  assert.equal(lane.room(0), 1, 'whoever had the lane before may have spent the rest')
  fail(lane, 'answered', 0)
  assert.equal(lane.room(0), 0)
  assert.equal(lane.wait(0), 500)
  assert.equal(lane.room(500), 1)
  assert.equal(lane.wait(500), undefined)
  assert.equal(lane.room(60_000), 2)
})

test('a rate below one in a second still lets one through', () => {
  const lane = laneWith({ concurrency: 1, rate: 0.1 })
  assert.equal(lane.room(0), 1)
  fail(lane, 'answered', 0)
  assert.equal(lane.room(9_000), 0)
  assert.equal(lane.room(10_000), 1)
})

test('who does not answer gets fewer attempts at a time, down to one, until an answer comes', () => {
  const lane = laneWith({ concurrency: 8 })
  for (let n = 0; n < 8; n += 1) begin(lane)
  for (let n = 0; n < 8; n += 1) lane.end('silent', 0)
  assert.equal(lane.room(0), 1)
  for (const expected of [2, 4, 8, 8]) {
    begin(lane)
    lane.end('answered', 0)
    assert.equal(lane.room(0), expected)
  }
})

test('when little is left for all, only who has nothing under way gets an attempt', () => {
  const lane = laneWith({ concurrency: 8 })
  assert.equal(lane.room(0, true), 1)
  begin(lane)
  assert.equal(lane.room(0, true), 0)
  assert.equal(lane.room(0), 7)
})

test('a wall of retries does not hold up what is new, nor the other way round', () => {
  const lane = laneWith({})
  for (let n = 0; n < 8; n += 1) lane.retries.waiting.push(queued(true))
  for (let n = 0; n < 8; n += 1) lane.fresh.waiting.push(queued(false))
  const begun = Array.from({ length: 16 }, () => lane.begin(0)!.delivery.number)
  assert.deepEqual(begun, [1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 2, 2, 2, 2, 2, 2])
})

test('a subscriber that is down is probed by one attempt at a time, with growing pauses', () => {
  const lane = laneWith({ concurrency: 8 })
  for (let n = 0; n < 20; n += 1) fail(lane, 'refused', n)
  assert.equal(lane.room(20), 8, 'a moment is no outage')
  fail(lane, 'refused', 30_000)
  assert.equal(lane.room(30_000), 0)
  assert.equal(lane.wait(30_000), 5_000)
  assert.equal(lane.room(35_000), 1)
  begin(lane, 35_000)
  assert.equal(lane.room(35_000), 0, 'one probe at a time')
  lane.end('silent', 40_000)
  assert.equal(lane.wait(40_000), 10_000)
  fail(lane, 'answered', 50_000)
  assert.equal(lane.breaker.open, false)
  assert.ok(lane.room(50_000) > 0)
})

test('a refusal of what is sent is no outage', () => {
  const lane = laneWith({ concurrency: 8 })
  for (let n = 0; n < 100; n += 1) fail(lane, 'answered', n * 1_000)
  assert.equal(lane.room(100_000), 8)
})

test('an ordered lane is not probed: its first delivery is, by its schedule', () => {
  const lane = laneWith({ concurrency: 1, ordered: true })
  for (let n = 0; n < 100; n += 1) fail(lane, 'refused', n * 1_000)
  assert.equal(lane.room(100_000), 1)
})

test('who has spent a token owes until it is back, also while there is no destination', () => {
  const lane = laneWith({ rate: 0.5 })
  assert.equal(lane.owes(0), false)
  fail(lane, 'answered', 0)
  lane.destination = undefined
  assert.equal(lane.owes(1_999), true)
  assert.equal(lane.owes(2_000), false)
  const free = laneWith({})
  fail(free, 'answered', 0)
  assert.equal(free.owes(0), false)
})
