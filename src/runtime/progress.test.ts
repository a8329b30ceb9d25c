import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { Progress } from './worker.ts'

test('a worker that stalls is seen also after the clock is set back', () => {
  const clock = new ManualClock()
  const progress = new Progress(clock)
  assert.equal(progress.age, 0, 'it does not run here')
  progress.made()
  clock.pass(2_000)
  assert.equal(progress.age, 2_000)
  clock.time -= 3_600_000
  progress.made()
  assert.equal(progress.age, 0)
  clock.pass(2_000)
  clock.time -= 3_600_000
  clock.pass(15_000)
  assert.ok(progress.age >= 15_000)
})
