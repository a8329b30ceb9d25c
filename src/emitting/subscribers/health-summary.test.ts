import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byHour, classOf, summarize } from './health.ts'
import { fields } from '#test/harness/fields.ts'

const row = (hour: number, duration_class: number, delivered: number, failed = 0) => ({
  subscriber_id: 's',
  hour,
  duration_class,
  delivered,
  failed,
})

test('a duration is counted in its class; longer durations in the last class', () => {
  assert.deepEqual(
    [0, 10, 11, 250, 9_999, 300_000, 1e9].map(classOf),
    [10, 10, 25, 250, 10_000, 300_000, 300_000],
  )
})

test('p50 covers half of the attempts, p99 covers 99 of 100', () => {
  const rows = [row(0, 1_000, 2), row(0, 10, 60), row(0, 100, 30, 8)]
  assert.deepEqual(summarize(rows), { delivered: 92, failed: 8, successRate: 0.92, p50: 10, p99: 1_000 })
})

test('without attempts there are no percentiles', () => {
  assert.deepEqual(summarize([]), { delivered: 0, failed: 0, successRate: null, p50: null, p99: null })
})

test('hours are ordered, and rows of one hour are merged', () => {
  const hours = byHour([row(7_200_000, 10, 1), row(0, 10, 1), row(7_200_000, 25, 0, 1)])
  assert.deepEqual(fields(hours, 'hour', 'delivered', 'failed'), [
    [0, 1, 0],
    [7_200_000, 1, 1],
  ])
})
