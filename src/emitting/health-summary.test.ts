import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byHour, classOf, summarize } from './health-summary.ts'

const row = (hour: number, duration_class: number, delivered: number, failed = 0) => ({
  subscriber_id: 's',
  hour,
  duration_class,
  delivered,
  failed,
})

test('durations go to the class that holds them; what is longer than any, to the last', () => {
  assert.deepEqual(
    [0, 10, 11, 250, 9_999, 300_000, 1e9].map(classOf),
    [10, 10, 25, 250, 10_000, 300_000, 300_000],
  )
})

test('half of the attempts are within p50, and 99 of 100 within p99', () => {
  const rows = [row(0, 1_000, 2), row(0, 10, 60), row(0, 100, 30, 8)]
  assert.deepEqual(summarize(rows), { delivered: 92, failed: 8, successRate: 0.92, p50: 10, p99: 1_000 })
})

test('without attempts nothing is claimed', () => {
  assert.deepEqual(summarize([]), { delivered: 0, failed: 0, successRate: null, p50: null, p99: null })
})

test('hours come in order, and rows of one hour together', () => {
  const hours = byHour([row(7_200_000, 10, 1), row(0, 10, 1), row(7_200_000, 25, 0, 1)])
  assert.deepEqual(
    hours.map(({ hour, delivered, failed }) => [hour, delivered, failed]),
    [
      [0, 1, 0],
      [7_200_000, 1, 1],
    ],
  )
})
