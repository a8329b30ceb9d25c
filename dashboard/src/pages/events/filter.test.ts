import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { EventRow } from '../../api/answers.ts'
import { notAbove, queryOf } from './filter.ts'

const event = (id: number): EventRow => ({
  id,
  createdAt: '2026-03-10T10:00:00Z',
  type: 'order.paid',
  source: 'shop',
  direction: 'received',
  status: 'processed',
  eventId: `evt_${id}`,
})

describe('the event log', () => {
  const rows = [4, 3, 2].map(event)
  const ids = (top: number | undefined): number[] => notAbove(rows, top).map(({ id }) => id)

  test('withholds events that came after the newest that was shown', () => {
    assert.deepEqual(ids(3), [3, 2])
    assert.deepEqual(ids(4), [4, 3, 2])
  })

  test('begins with the time range, unless a time or one event is asked for', () => {
    const start = '2026-03-01T00:00:00Z'
    const since = (chosen: object): string | undefined => queryOf(chosen, start)['since']
    assert.equal(since({ status: 'failed' }), start)
    assert.equal(since({ since: '2026-02-01T00:00:00Z' }), '2026-02-01T00:00:00Z')
    for (const chosen of [{ until: '2026-02-01T00:00:00Z' }, { eventId: 'evt_1' }, { orderKey: 'A' }])
      assert.equal(since(chosen), undefined, JSON.stringify(chosen))
  })

  test('shows all before it knows the newest', () => assert.deepEqual(ids(undefined), [4, 3, 2]))
})
