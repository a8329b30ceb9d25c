import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { RepeatedPass } from './repeated-pass.ts'

test('a pause limits the passes, also while requests come after the end of a pass', async () => {
  const clock = new ManualClock()
  let passes = 0
  const repeated = new RepeatedPass(
    () => {
      passes += 1
      return Promise.resolve()
    },
    (again) => clock.after(20, again),
  )
  // Requests come all the time, each pass ends at once.
  for (let ms = 0; ms < 100; ms += 1) {
    repeated.request()
    repeated.request()
    await nextTurn()
    clock.pass(1)
  }
  assert.ok(passes <= 6, `${passes} passes in 100 ms with pauses of 20 ms`)
})

test('a request during a pass repeats it once, and one after it begins the next at once', async () => {
  let passes = 0
  const ends: (() => void)[] = []
  const repeated = new RepeatedPass(() => {
    passes += 1
    return new Promise((resolve) => ends.push(resolve))
  })
  for (let request = 0; request < 3; request += 1) repeated.request()
  assert.equal(passes, 1)
  ends.shift()!()
  await nextTurn()
  assert.equal(passes, 2)
  ends.shift()!()
  await nextTurn()
  assert.equal(passes, 2)
  repeated.request()
  assert.equal(passes, 3)
  repeated.stop()
  ends.shift()!()
  await repeated.ended()
  repeated.request()
  assert.equal(passes, 3)
})
