import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTimeInForm, timeFormOf } from './stored-times.ts'

test('finds the form that all values share', () => {
  assert.deepEqual(timeFormOf(['2026-01-31 08:30:00', '2026-01-31 08:30:01']), {
    separator: ' ',
    digits: 0,
    omitsZeros: false,
    zone: '',
  })
  assert.deepEqual(timeFormOf(['2026-01-31 08:30:00.000137', '2026-01-31 08:30:01']), {
    separator: ' ',
    digits: 6,
    omitsZeros: true,
    zone: '',
  })
  for (const values of [
    [],
    [null],
    [1_700_000_000],
    ['yesterday'],
    ['2026-01-31'],
    ['2026-01-31 08:30:00', '2026-01-31T08:30:00'],
    ['2026-01-31T08:30:00Z', '2026-01-31T08:30:00'],
    // These do not sort as the times do: the Z stands above the point.
    ['2026-01-31T08:30:00Z', '2026-01-31T08:30:00.000Z'],
    ['2026-01-31 08:30:00.000', '2026-01-31 08:30:00.000000'],
    ['2026-01-31T08:30:00+02:00'],
  ])
    assert.equal(timeFormOf(values), undefined, JSON.stringify(values))
})

test('a time with more digits than the column lies between two values', () => {
  const seconds = timeFormOf(['2026-01-31 08:30:00'])!
  assert.deepEqual(readTimeInForm('2026-12-31T23:59:59.5Z', seconds), {
    between: ['2026-12-31 23:59:59', '2027-01-01 00:00:00'],
  })
  assert.deepEqual(readTimeInForm('9999-12-31T23:59:59.5Z', seconds), { beyond: 'above' })
  assert.deepEqual(readTimeInForm('2026-01-31T10:30:00+02:00', seconds), { at: '2026-01-31 08:30:00' })
  assert.equal(readTimeInForm('2026-02-30', seconds), undefined)
})
