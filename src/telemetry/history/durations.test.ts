import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addBuckets,
  addEncoded,
  bucketCount,
  bucketOf,
  Durations,
  encodeBuckets,
  quantiles,
} from './durations.ts'

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

test('encoded and added buckets have the percentiles of all durations together', () => {
  const durations = someDurations(3_000)
  const sum = new Float64Array(bucketCount)
  for (let start = 0; start < durations.length; start += 100)
    addEncoded(sum, encodeBuckets(bucketsOf(durations.slice(start, start + 100))))
  assert.deepEqual(sum, bucketsOf(durations))
  addBuckets(sum, bucketsOf(durations))
  assert.deepEqual(quantiles(sum, [0.5, 0.99]), quantiles(bucketsOf(durations), [0.5, 0.99]))
})

test('counts beyond 32 bits survive encoding', () => {
  const buckets = new Float64Array(bucketCount)
  buckets[0] = 127
  buckets[3] = 128
  buckets[bucketCount - 1] = 2 ** 40 + 5
  const read = new Float64Array(bucketCount)
  addEncoded(read, encodeBuckets(buckets))
  assert.deepEqual(read, buckets)
})

test('every duration has a bucket', () => {
  for (const ms of [0, -1, Number.NaN, 0.1]) assert.equal(bucketOf(ms), 0)
  assert.equal(bucketOf(Infinity), bucketCount - 1)
  assert.equal(new Durations().drain(), undefined)
  assert.deepEqual(quantiles(new Float64Array(bucketCount), [0.5]), [null])
})
