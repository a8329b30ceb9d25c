import assert from 'node:assert/strict'
import { test } from 'node:test'
import { longestRetryAfter, nextDelay } from './retry-schedule.ts'

const schedule = [0, 5_000, 300_000]

test('each failure waits for the next entry with a jitter of ±20 %, until the schedule ends', () => {
  assert.equal(
    nextDelay(schedule, 1, () => 0.5),
    5_000,
  )
  assert.equal(
    nextDelay(schedule, 1, () => 0),
    4_000,
  )
  assert.equal(
    nextDelay(schedule, 2, () => 0.999999),
    360_000,
  )
  assert.equal(
    nextDelay(schedule, 3, () => 0.5),
    undefined,
  )
})

test('Retry-After lengthens the wait up to 24 hours, never shortens it, and adds no attempt', () => {
  const half = () => 0.5
  assert.equal(nextDelay(schedule, 1, half, 60_000), 60_000)
  assert.equal(nextDelay(schedule, 2, half, 60_000), 300_000)
  assert.equal(nextDelay(schedule, 1, half, 10 * longestRetryAfter), longestRetryAfter)
  assert.equal(nextDelay(schedule, 1, half, -5), 5_000)
  assert.equal(nextDelay(schedule, 3, half, 60_000), undefined)
})
