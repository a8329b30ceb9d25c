import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { LiveEvent } from '../../api/live.ts'
import { matchesFilter, type Chosen } from './filter.ts'

const event: LiveEvent = {
  id: 7,
  createdAt: '2026-03-10T10:00:00Z',
  type: 'order.paid',
  source: 'shop',
  direction: 'received',
  status: 'processed',
  eventId: 'evt_1',
}

describe('an event that just came', () => {
  const belongs = (chosen: Chosen): boolean => matchesFilter(event, chosen)

  test('belongs to a list whose filters it matches', () => {
    for (const type of ['order.paid', 'order.*', '*']) assert.equal(belongs({ type }), true, type)
    assert.equal(
      belongs({ source: 'shop', direction: 'received', status: 'processed', eventId: 'evt_1' }),
      true,
    )
  })

  test('does not belong to others', () => {
    for (const type of ['order', 'orders.*', 'order.paid.*', 'ord.*'])
      assert.equal(belongs({ type }), false, type)
    for (const chosen of [
      { source: 'other' },
      { status: 'failed' },
      { direction: 'emitted' },
      { eventId: 'evt_2' },
    ])
      assert.equal(belongs(chosen), false, JSON.stringify(chosen))
  })

  test('is not added where the message does not say whether it belongs', () => {
    assert.equal(belongs({ orderKey: 'A' }), false)
    assert.equal(belongs({ until: '2026-01-01T00:00:00Z' }), false)
  })
})
