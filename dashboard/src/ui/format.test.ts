import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatAgo, formatBytes, formatDuration, formatPercent, formatTime, localTime } from './format.ts'

const all = <Value>(format: (value: Value) => string, expected: readonly [Value, string][]): void =>
  assert.deepEqual(
    expected.map(([value]) => format(value)),
    expected.map(([, text]) => text),
  )

describe('figures in words', () => {
  test('a share that is not all and not nothing is not shown as such', () => {
    all(formatPercent, [
      [0, '0%'],
      [0.000_4, '<0.1%'],
      [0.000_6, '0.1%'],
      [0.333_3, '33.3%'],
      [0.989_99, '99.0%'],
      [0.995, '99.50%'],
      [0.999_9, '99.99%'],
      [0.999_96, '>99.99%'],
      [1, '100%'],
    ])
  })

  test('bytes move to the next unit where rounding would show a thousand', () => {
    all(formatBytes, [
      [0, '0 B'],
      [999, '999 B'],
      [1_000, '1.0 kB'],
      [9_949, '9.9 kB'],
      [9_960, '10 kB'],
      [999_499, '999 kB'],
      [999_999, '1.0 MB'],
      [999_999_999, '1.0 GB'],
      [2_000_000_000_000_000, '2000 TB'],
    ])
  })

  test('durations do so too, below and above zero', () => {
    all(formatDuration, [
      [0, '0 ms'],
      [0.42, '420 µs'],
      [0.999_6, '1.0 ms'],
      [9.96, '10 ms'],
      [999.6, '1.0 s'],
      [-999.6, '-1.0 s'],
      [9_960, '10 s'],
      [89_999, '90 s'],
      [90_000, '2 min'],
      [5_400_000, '2 h'],
      [172_800_000, '2 d'],
    ])
  })
})

describe('times in words', () => {
  const now = new Date('2026-03-10T12:00:00')
  // Some versions of the formats have a narrow space before AM.
  const plain = (text: string): string => text.replaceAll('\u202f', ' ')

  test('have a date unless they are of today', () => {
    const format = (time: string): string => plain(formatTime(time, now))
    assert.equal(format('2026-03-10T04:10:05'), '4:10:05 AM')
    assert.equal(format('2026-03-09T23:59:00'), 'Mar 9, 11:59 PM')
    assert.equal(format('2025-12-31T08:00:00'), 'Dec 31, 2025, 8:00 AM')
  })

  test('are written as a distance in the largest unit', () => {
    const at = (seconds: number): string => formatAgo(now.getTime() + seconds * 1_000, now.getTime())
    assert.deepEqual([-100, 7_200, -86_400, 0].map(at), ['2 minutes ago', 'in 2 hours', 'yesterday', 'now'])
  })

  test('are written for inputs in local time, and not at all if they are none', () => {
    assert.equal(localTime(new Date('2026-01-31T08:30:00').toISOString()), '2026-01-31T08:30:00')
    assert.equal(localTime('soon'), '')
  })
})
