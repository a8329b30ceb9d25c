import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRetryAfter } from './retry-after.ts'

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
