import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDeliveryFilter } from './delivery-filter.ts'

test('times need an offset, and an unescaped plus is accepted', () => {
  const noon = Date.UTC(2026, 0, 31, 12)
  for (const since of [
    '2026-01-31T12:00:00Z',
    '2026-01-31T13:00:00+01:00',
    '2026-01-31T13:00:00 01:00',
    '2026-01-31T12:00Z',
  ])
    assert.deepEqual(readDeliveryFilter({ since }), { since: noon })
  assert.deepEqual(readDeliveryFilter({ until: '2026-01-31' }), { until: Date.UTC(2026, 0, 31) })
})

test('an invalid value is an error that names its parameter; an empty value counts as absent', () => {
  const invalid = {
    status: ['unknown', 'DEAD'],
    since: ['yesterday', '2026-02-30'],
    until: ['1700000000', '2026-01-31T12:00:00'],
    eventType: ['a\0b'],
  }
  for (const [parameter, values] of Object.entries(invalid))
    for (const value of values)
      assert.throws(
        () => readDeliveryFilter({ [parameter]: value }),
        (error: { code?: string; extras?: { parameter?: string } }) =>
          error.code === 'invalid-parameter' && error.extras?.parameter === parameter,
        `${parameter}=${value}`,
      )
  assert.deepEqual(readDeliveryFilter({ status: '', eventType: '', since: '', until: '' }), {})
})
