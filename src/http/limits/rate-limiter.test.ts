import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimiter } from './rate-limiter.ts'

function at(start: number, capacity?: number) {
  let now = start
  const limiter = new RateLimiter({ now: () => now, after: () => () => undefined }, capacity)
  return { limiter, pass: (ms: number) => void (now += ms) }
}
const takeAll = (limiter: RateLimiter, key: string, max: number, tries: number): number =>
  Array.from({ length: tries }, () => limiter.take(key, max)).filter(({ allowed }) => allowed).length

test('allows the limit per minute and key', () => {
  const { limiter, pass } = at(0)
  assert.equal(takeAll(limiter, 'a', 10, 50), 10)
  assert.equal(takeAll(limiter, 'b', 10, 50), 10)
  pass(59_000)
  assert.equal(takeAll(limiter, 'a', 10, 50), 0)
})

test('the start of a new minute does not double the limit', () => {
  const { limiter, pass } = at(59_000)
  assert.equal(takeAll(limiter, 'a', 100, 200), 100)
  pass(2_000)
  assert.ok(takeAll(limiter, 'a', 100, 200) <= 2)
  pass(30_000)
  const half = takeAll(limiter, 'a', 100, 200)
  assert.ok(half >= 48 && half <= 52, `${half}`)
})

test('a caller that waits for Retry-After is allowed again, and not much sooner', () => {
  for (const start of [0, 15_000, 59_999]) {
    const { limiter, pass } = at(start)
    takeAll(limiter, 'a', 20, 20)
    for (let round = 0; round < 10; round += 1) {
      const { allowed, retryAfter } = limiter.take('a', 20)
      assert.equal(allowed, false)
      pass(retryAfter * 1000 - 20)
      assert.equal(limiter.take('a', 20).allowed, false, `start ${start}, round ${round}`)
      pass(40)
      assert.equal(limiter.take('a', 20).allowed, true, `start ${start}, round ${round}`)
    }
  }
})

test('keys are removed after two minutes, so that many keys do not fill the memory', () => {
  const { limiter, pass } = at(0, 100)
  for (let key = 0; key < 1_000; key += 1) limiter.take(`k${key}`, 5)
  assert.equal(limiter.size, 100)
  pass(120_000)
  assert.deepEqual(limiter.take('k999', 5), { allowed: true, remaining: 4, retryAfter: 0, resetAfter: 120 })
  assert.equal(limiter.size, 1)
})

test('after the reset all calls are allowed again, and before it they are not', () => {
  for (const start of [0, 15_000, 59_000]) {
    for (const calls of [1, 20, 25]) {
      const { limiter, pass } = at(start)
      takeAll(limiter, 'a', 20, calls - 1)
      const { resetAfter } = limiter.take('a', 20)
      pass(resetAfter * 1000 - 1_000)
      assert.ok(limiter.take('a', 20).remaining < 19, `start ${start}, ${calls} calls`)
      const other = at(start)
      takeAll(other.limiter, 'a', 20, calls)
      other.pass(resetAfter * 1000)
      assert.equal(takeAll(other.limiter, 'a', 20, 20), 20, `start ${start}, ${calls} calls`)
    }
  }
})
