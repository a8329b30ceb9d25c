import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isoTime } from './iso-time.ts'

test('writes the same text as Date', () => {
  const day = 86_400_000
  const edges = [0, 1, 999, 1_000, 59_999, 60_000, 3_599_999, 3_600_000, day - 1, day, -1, -day, 1.5, 0.999]
  const far = [253_402_300_799_999, 253_402_300_800_000, -62_167_219_200_000, 8.64e15, -8.64e15]
  const leap = [Date.UTC(2024, 1, 29), Date.UTC(2000, 1, 29, 23, 59, 59, 999), Date.UTC(1972, 11, 31)]
  const many = Array.from({ length: 20_000 }, (_, index) => index * 126_701_150_399 * 0.1 + index)
  for (const time of [...edges, ...far, ...leap, ...many])
    assert.equal(isoTime(time), new Date(time).toISOString(), String(time))
})

test('an invalid time is a RangeError', () => {
  for (const nothing of [Number.NaN, Infinity, -Infinity, 8.64e15 + 1])
    assert.throws(() => isoTime(nothing), RangeError)
})
