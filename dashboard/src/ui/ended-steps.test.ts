import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endedSteps } from './ended-steps.ts'

test('a chart leaves out the step that has not ended, unless nothing happened before it', () => {
  assert.equal(
    endedSteps([
      [0, 2, 1],
      [null, null, null],
    ]),
    2,
  )
  assert.equal(
    endedSteps([
      [0, 0, 1],
      [null, null, 5],
    ]),
    3,
  )
  assert.equal(endedSteps([[0, 0, 0]]), 3)
  assert.equal(endedSteps([]), 0)
})
