import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDeliveryFilter } from './delivery-log.ts'

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
