import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SourceRate } from './admission.ts'

test('allows a burst of one second, then the rate', () => {
  const rate = new SourceRate(5)
  const at = (now: number) => rate.take(now).allowed
  assert.deepEqual(
    Array.from({ length: 7 }, () => at(1_000)),
    [true, true, true, true, true, false, false],
  )
  assert.equal(at(1_199), false)
  assert.equal(at(1_200), true)
  assert.equal(at(1_200), false)
})

test('a sender that waits for Retry-After is accepted, regardless of refusals in between', () => {
  const rate = new SourceRate(3)
  let now = 0
  for (let taken = 0; taken < 30;) {
    const { allowed, wait } = rate.take(now)
    if (allowed) taken += 1
    else {
      assert.equal(rate.take(now + wait * 1000 - 1).allowed, false)
      now += wait * 1000
      assert.ok(wait > 0 && wait <= 1 / 3 + 1e-9)
    }
  }
  assert.ok(now >= 8_999 && now <= 9_001, `27 beyond the first three took ${now} ms`)
})

test('reports the remaining events, and is refilled after one second', () => {
  const rate = new SourceRate(10)
  assert.deepEqual(rate.take(0), { allowed: true, remaining: 9, wait: 0.1 })
  assert.equal(rate.take(0).remaining, 8)
  assert.equal(rate.take(5_000).remaining, 9)
})

test('a rate below one per second allows one event at a time', () => {
  const rate = new SourceRate(0.5)
  assert.equal(rate.take(0).allowed, true)
  assert.deepEqual(rate.take(0), { allowed: false, remaining: 0, wait: 2 })
  assert.equal(rate.take(2_000).allowed, true)
})

test('a clock that is set back delays no sender longer than the rate does', () => {
  const rate = new SourceRate(2)
  for (let taken = 0; taken < 4; taken += 1) rate.take(1_000_000)
  const { allowed, wait } = rate.take(0)
  assert.equal(allowed, false)
  assert.ok(wait <= 0.5)
})
