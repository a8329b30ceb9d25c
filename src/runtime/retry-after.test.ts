import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRetryAfter } from './retry-schedule.ts'

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
    ['99999999999', 1e13],
    ['9'.repeat(400), 1e13],
    ['soon', undefined],
    ['2026', 2_026_000],
  ]
  for (const [header, expected] of cases) assert.equal(readRetryAfter(header, now), expected, String(header))
})

test('the obsolete forms of an HTTP date are in UTC, wherever the process runs', () => {
  const { TZ } = process.env
  process.env['TZ'] = 'America/New_York'
  try {
    const now = Date.UTC(1994, 10, 6, 8, 48, 37)
    for (const header of ['Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])
      assert.equal(readRetryAfter(header, now), 60_000, header)
  } finally {
    if (TZ === undefined) delete process.env['TZ']
    else process.env['TZ'] = TZ
  }
})
