import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import {
  RateLimiter,
  SharedRateLimiter,
  type CallsToCount,
  type CountCalls,
  type Counted,
} from './rate-limiter.ts'

function at(start: number, capacity?: number) {
  let now = start
  const limiter = new RateLimiter({ now: () => now, after: () => () => undefined }, capacity)
  return { limiter, pass: (ms: number) => void (now += ms) }
}
const takeAll = (limiter: RateLimiter, key: string, max: number, tries: number): number =>
  Array.from({ length: tries }, () => limiter.take(key, max)).filter(({ allowed }) => allowed).length

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

/** After all that a promise leads to. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
const unexpected = (error: unknown): never => assert.fail(String(error))
const allowed = { granted: 1, calls: 1, before: 0, passed: 0 }
const refused = { granted: 0, calls: 10, before: 0, passed: 0 }

test('concurrent calls share one statement', async () => {
  const asked: number[] = []
  const count: CountCalls = async (calls) => {
    asked.push(calls.length)
    return calls.map(() => allowed)
  }
  const counts = new SharedRateLimiter({ count, clock: new ManualClock(), onError: unexpected })
  const taken = await Promise.all(Array.from({ length: 50 }, (_, index) => counts.take(`key ${index}`, 10)))
  assert.ok(taken.every((one) => one?.allowed === true && one.remaining === 9))
  assert.deepEqual(asked, [50])
})

test('concurrent calls of one key are one row; calls above the grant are refused', async () => {
  const asked: (readonly CallsToCount[])[] = []
  const count: CountCalls = async (calls) => {
    asked.push(calls)
    return [{ granted: 2, calls: 10, before: 0, passed: 0 }]
  }
  const counts = new SharedRateLimiter({ count, clock: new ManualClock(), onError: unexpected })
  const taken = await Promise.all(Array.from({ length: 3 }, () => counts.take('key', 10)))
  assert.deepEqual(
    taken.map((one) => one && [one.allowed, one.remaining]),
    [
      [true, 1],
      [true, 0],
      [false, 0],
    ],
  )
  assert.deepEqual(
    asked.map((calls) => calls.map(({ wanted }) => wanted)),
    [[3]],
  )
})

test('a refused key is queried again when it may call again', async () => {
  let asked = 0
  const clock = new ManualClock()
  const count: CountCalls = async () => {
    asked += 1
    return [refused]
  }
  const counts = new SharedRateLimiter({ count, clock, onError: unexpected })
  const first = await counts.take('key', 10)
  assert.equal(first?.allowed, false)
  clock.pass(1_000)
  assert.deepEqual(await counts.take('key', 10), {
    ...first,
    retryAfter: first.retryAfter - 1,
    resetAfter: first.resetAfter - 1,
  })
  assert.equal(asked, 1)
  clock.pass(first.retryAfter * 1_000)
  await counts.take('key', 10)
  assert.equal(asked, 2)
})

test('at most a hundred new rows per second are added; known keys are still counted', async () => {
  let rows = 0
  const clock = new ManualClock()
  const count: CountCalls = async (calls) => {
    rows += calls.length
    return calls.map(() => allowed)
  }
  const counts = new SharedRateLimiter({ count, clock, onError: unexpected })
  const flood = (from: number): Promise<unknown[]> =>
    Promise.all(Array.from({ length: 1_000 }, (_, index) => counts.take(`key ${from + index}`, 10)))
  const taken = await flood(0)
  assert.equal(taken.filter((one) => one === undefined).length, 900, 'these are counted by the process alone')
  assert.equal(rows, 100)
  assert.equal((await counts.take('key 5', 10))?.allowed, true)
  assert.equal(rows, 101)
  clock.pass(1_000)
  await flood(1_000)
  assert.equal(rows, 201)
})

test('a failing or silent database delays no call', async () => {
  const clock = new ManualClock()
  const errors: unknown[] = []
  let answer = Promise.withResolvers<Counted[]>()
  const count: CountCalls = () => answer.promise
  const counts = new SharedRateLimiter({ count, clock, onError: (error) => errors.push(error) })
  const waiting = counts.take('key', 10)
  await settled()
  clock.pass(1_000)
  assert.equal(await waiting, undefined, 'it waits for a second')
  assert.equal(await counts.take('key', 10), undefined, 'and for five more nothing is asked')
  clock.pass(5_000)
  const other = counts.take('other', 10)
  answer.reject(new Error('away'))
  assert.equal(await other, undefined)
  await settled()
  assert.equal(errors.length, 1)
  answer = Promise.withResolvers<Counted[]>()
  answer.resolve([allowed])
  clock.pass(4_000)
  assert.equal(await counts.take('key', 10), undefined)
  clock.pass(1_000)
  assert.equal((await counts.take('key', 10))?.allowed, true)
})

test('a clock that is set back makes neither a refusal nor a pause longer', async () => {
  const clock = new ManualClock()
  let fails = false
  const count: CountCalls = async () => {
    if (fails) throw new Error('the database does not answer')
    return [refused]
  }
  const counts = new SharedRateLimiter({ count, clock, onError: () => undefined })
  clock.time = 10 * 3_600_000
  const first = await counts.take('key', 10)
  clock.time -= 3_600_000
  assert.deepEqual(await counts.take('key', 10), first, 'counted from zero again')
  fails = true
  assert.equal(await counts.take('other', 10), undefined)
  fails = false
  clock.time -= 3_600_000
  assert.equal((await counts.take('other', 10))?.allowed, false)
})
