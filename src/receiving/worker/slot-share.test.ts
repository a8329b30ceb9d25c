import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SlotShare } from './handler-slots.ts'

test('a clock that is set back makes neither a need nor a share nor a pause longer', () => {
  const slots = new SlotShare(4)
  const later = 10 * 3_600_000
  slots.need(later)
  slots.requested(later)
  slots.grant(2, later)
  assert.equal(slots.needsMore(later), true)
  assert.equal(slots.mayRequest(later), false)
  assert.equal(slots.allowed(later), 2)
  const setBack = later - 3_600_000
  assert.equal(slots.needsMore(setBack), false)
  assert.equal(slots.mayRequest(setBack), true)
  assert.equal(slots.allowed(setBack), 0)
})
