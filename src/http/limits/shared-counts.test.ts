import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { SharedCounts, type CallsToCount, type Counted } from './shared-counts.ts'

const unexpected = (error: unknown): never => assert.fail(String(error))
const allowed: Counted = { granted: 1, calls: 1, before: 0, passed: 0 }
const refused: Counted = { granted: 0, calls: 10, before: 0, passed: 0 }

test('concurrent calls share one statement', async () => {
  const asked: number[] = []
  const count = async (calls: readonly CallsToCount[]): Promise<Counted[]> => {
    asked.push(calls.length)
    return calls.map(() => allowed)
  }
  const counts = new SharedCounts({ count, clock: new ManualClock(), onError: unexpected })
  const taken = await Promise.all(Array.from({ length: 50 }, (_, index) => counts.take(`key ${index}`, 10)))
  assert.ok(taken.every((one) => one?.allowed === true && one.remaining === 9))
  assert.deepEqual(asked, [50])
})

test('concurrent calls of one key are one row; calls above the grant are refused', async () => {
  const asked: (readonly CallsToCount[])[] = []
  const count = async (calls: readonly CallsToCount[]): Promise<Counted[]> => {
    asked.push(calls)
    return [{ granted: 2, calls: 10, before: 0, passed: 0 }]
  }
  const counts = new SharedCounts({ count, clock: new ManualClock(), onError: unexpected })
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
  const count = async (): Promise<Counted[]> => {
    asked += 1
    return [refused]
  }
  const counts = new SharedCounts({ count, clock, onError: unexpected })
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
  const count = async (calls: readonly CallsToCount[]): Promise<Counted[]> => {
    rows += calls.length
    return calls.map(() => allowed)
  }
  const counts = new SharedCounts({ count, clock, onError: unexpected })
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
  const count = (): Promise<Counted[]> => answer.promise
  const counts = new SharedCounts({ count, clock, onError: (error) => errors.push(error) })
  const waiting = counts.take('key', 10)
  clock.pass(1_000)
  assert.equal(await waiting, undefined, 'it waits for a second')
  assert.equal(await counts.take('key', 10), undefined, 'and for five more nothing is asked')
  clock.pass(5_000)
  const other = counts.take('other', 10)
  answer.reject(new Error('away'))
  assert.equal(await other, undefined)
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
  const count = async (): Promise<Counted[]> => {
    if (fails) throw new Error('the database does not answer')
    return [refused]
  }
  const counts = new SharedCounts({ count, clock, onError: () => undefined })
  clock.time = 10 * 3_600_000
  const first = await counts.take('key', 10)
  clock.time -= 3_600_000
  assert.deepEqual(await counts.take('key', 10), first, 'counted anew')
  fails = true
  assert.equal(await counts.take('other', 10), undefined)
  fails = false
  clock.time -= 3_600_000
  assert.equal((await counts.take('other', 10))?.allowed, false)
})
