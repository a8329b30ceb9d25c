import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationInWords, elapsedInWords, scheduleInWords } from './duration-words.ts'

test('durations are written in their largest whole unit', () => {
  assert.deepEqual([1, 15, 60, 90, 5_400, 36_000, 86_400, 604_800].map(durationInWords), [
    '1 second',
    '15 seconds',
    '1 minute',
    '90 seconds',
    '90 minutes',
    '10 hours',
    '1 day',
    '7 days',
  ])
})

test('what lasts is written in its largest unit', () => {
  const now = Date.parse('2026-03-10T12:00:00Z')
  assert.equal(elapsedInWords('2026-03-10T11:52:30Z', now), '7 minutes')
  assert.equal(elapsedInWords('2026-03-10T10:59:00Z', now), '1 hour')
  assert.equal(elapsedInWords('2026-03-10T12:00:05Z', now), '0 seconds')
})

test('a retry schedule names its waits and the number of attempts', () => {
  assert.equal(scheduleInWords('0'), 'Immediately. No retries.')
  assert.equal(scheduleInWords('0,3600'), 'Immediately, then once more after 1 hour. 2 attempts.')
  assert.equal(
    scheduleInWords('5,300,7200'),
    'After 5 seconds, then again after 5 minutes, 2 hours. 3 attempts.',
  )
})
