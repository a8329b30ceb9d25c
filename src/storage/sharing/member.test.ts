import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Member } from './member.ts'

test('a statement that waits for a turn is rejected when its part leaves', async () => {
  let left = false
  const part = { began() {}, tookTurn() {}, failed() {}, left: () => (left = true) }
  const member = new Member<string>(part, undefined)
  const turn = member.ownTurn()
  member.leave(false, new Error('out of time'))
  await assert.rejects(turn, /out of time/)
  assert.equal(left, true)
})
