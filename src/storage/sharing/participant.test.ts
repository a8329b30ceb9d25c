import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Participant } from './participant.ts'

test('a statement that waits for a turn is rejected when its scope leaves', async () => {
  let left = false
  const scope = { began() {}, tookTurn() {}, failed() {}, leftQueue: () => (left = true) }
  const participant = new Participant<string>(scope, undefined)
  const turn = participant.ownTurn()
  participant.leave(false, new Error('out of time'))
  await assert.rejects(turn, /out of time/)
  assert.equal(left, true)
})
