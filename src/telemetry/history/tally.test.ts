import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Durations, quantiles, Tally } from './tally.ts'

/** The duration that `share` of the durations do not exceed, computed from all of them. */
function direct(durations: readonly number[], share: number): number {
  const sorted = durations.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!
}

/** Durations from a tenth of a millisecond to minutes, always the same ones. */
function someDurations(count: number): number[] {
  return Array.from({ length: count }, (_, index) => 0.11 * 1.4 ** (((index * 7919) % 4_001) / 100))
}

function bucketsOf(durations: readonly number[]): Float64Array {
  const counted = new Durations()
  for (const duration of durations) counted.observe(duration)
  return counted.drain()!
}

test('percentiles are within 5 % of those computed from all durations', () => {
  for (const count of [1, 2, 10, 99, 5_000]) {
    const durations = someDurations(count)
    for (const share of [0.5, 0.9, 0.99, 1]) {
      const found = quantiles(bucketsOf(durations), [share])[0]!
      const expected = direct(durations, share)
      assert.ok(Math.abs(found / expected - 1) < 0.05, `${count} ${share}: ${found} instead of ${expected}`)
    }
  }
})

/** As a tally reads the buckets from the row that another one wrote. */
function stored(buckets: Float64Array): Tally {
  const [written, read] = [new Tally(), new Tally()]
  written.addBuckets(buckets)
  read.add(written.toRow(60, 'handlers', 0))
  return read
}

test('encoded and added buckets have the percentiles of all durations together', () => {
  const durations = someDurations(3_000)
  const sum = new Tally()
  for (let start = 0; start < durations.length; start += 100)
    sum.add(stored(bucketsOf(durations.slice(start, start + 100))))
  assert.deepEqual(sum.buckets, bucketsOf(durations))
  sum.addBuckets(bucketsOf(durations))
  assert.deepEqual(quantiles(sum.buckets, [0.5, 0.99]), quantiles(bucketsOf(durations), [0.5, 0.99]))
})

test('counts beyond 32 bits survive encoding', () => {
  const buckets = bucketsOf([0])
  buckets[0] = 127
  buckets[3] = 128
  buckets[buckets.length - 1] = 2 ** 40 + 5
  assert.deepEqual(stored(buckets).buckets, buckets)
})

test('every duration has a bucket', () => {
  for (const ms of [0, -1, Number.NaN, 0.1]) assert.equal(bucketsOf([ms])[0], 1)
  assert.equal(bucketsOf([Infinity]).at(-1), 1)
  assert.equal(new Durations().drain(), undefined)
  assert.deepEqual(quantiles(new Float64Array(bucketsOf([0]).length), [0.5]), [null])
})
