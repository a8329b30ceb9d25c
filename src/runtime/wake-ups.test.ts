import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { WakeUps } from './repeated-pass.ts'

/** A worker whose passes end when the test says so. */
function worker() {
  const clock = new ManualClock()
  const passes: PromiseWithResolvers<void>[] = []
  const wakeUps = new WakeUps(clock, () => {
    const pass = Promise.withResolvers<void>()
    passes.push(pass)
    return pass.promise
  })
  const endPass = async (): Promise<void> => {
    passes.at(-1)!.resolve()
    await new Promise(setImmediate)
  }
  return { clock, wakeUps, passes, endPass }
}

test('wake-ups before the start have no effect', () => {
  const { clock, wakeUps, passes } = worker()
  wakeUps.now()
  wakeUps.in(5)
  clock.pass(5)
  assert.equal(passes.length, 0)
  wakeUps.start()
  assert.equal(passes.length, 1)
})

test('of several later wake-ups the earliest counts', async () => {
  const { clock, wakeUps, passes, endPass } = worker()
  wakeUps.start()
  await endPass()
  wakeUps.in(1_000)
  wakeUps.in(5)
  wakeUps.in(500)
  clock.pass(5)
  assert.equal(passes.length, 2)
  await endPass()
  clock.pass(1_000)
  assert.equal(passes.length, 2)
})

test('a stop lets the current pass end, and begins no other', async () => {
  const { clock, wakeUps, passes, endPass } = worker()
  wakeUps.start()
  wakeUps.now()
  wakeUps.in(5)
  let ended = false
  const end = wakeUps.stop().then(() => (ended = true))
  clock.pass(5)
  await new Promise(setImmediate)
  assert.equal(ended, false)
  await endPass()
  await end
  wakeUps.now()
  assert.equal(passes.length, 1)
})
