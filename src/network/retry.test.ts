import assert from 'node:assert/strict'
import { test } from 'node:test'
import { longestRetryAfter, nextDelay, readRetryAfter } from './retry.ts'

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

test('Retry-After is seconds or an HTTP date; other values are ignored', () => {
  const now = Date.UTC(2026, 10, 21, 12, 0, 0)
  const cases: [header: string | undefined, expected: number | undefined][] = [
    ['120', 120_000],
    [' 0 ', 0],
    ['Sat, 21 Nov 2026 12:01:00 GMT', 60_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
    [undefined, undefined],
    ['', undefined],
    ['-5', undefined],
    ['1.5', undefined],
    ['1e9', undefined],
    ['99999999999999', undefined],
    ['soon', undefined],
    ['2026', 2_026_000],
  ]
  for (const [header, expected] of cases) assert.equal(readRetryAfter(header, now), expected, String(header))
})
