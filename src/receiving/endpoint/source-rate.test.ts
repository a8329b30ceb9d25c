import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { each } from '#test/harness/fields.ts'
import { SharedSourceRate, SourceRate, type ReserveRate, type Reserved } from './admission.ts'

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
  assert.equal(rate.take(500).allowed, true, 'after the wait')
})

/** Does what `take_source_rate` of the database does, and counts its calls. */
function model(): { reserve: ReserveRate; asked: () => number } {
  let until = 0
  let asked = 0
  const reserve: ReserveRate = async ({ wanted, cost, credit }, now): Promise<Reserved> => {
    asked += 1
    const owed = Math.min(credit, Math.max(0, until - now))
    const granted = Math.min(wanted, Math.floor((credit - owed) / cost + 1e-6))
    if (granted > 0) until = now + owed + granted * cost
    return { granted, owed: owed + granted * cost }
  }
  return { reserve, asked: () => asked }
}

const unexpected = (error: unknown): never => assert.fail(String(error))

test('a high rate needs few statements, most events wait for none, and the full rate is used', async () => {
  const clock = new ManualClock()
  const { reserve, asked } = model()
  const processes = [1, 2].map(
    () => new SharedSourceRate('source', 1_000, { reserve, clock, onError: unexpected }),
  )
  let [accepted, waited] = [0, 0]
  const seconds = 10
  for (let ms = 0; ms < seconds * 1_000; ms += 1) {
    for (const process of processes) {
      const taken = process.take(clock.now())
      if (taken instanceof Promise) waited += 1
      if ((await taken).allowed) accepted += 1
    }
    clock.pass(1)
  }
  assert.ok(accepted <= 1_000 * (seconds + 1), `${accepted} accepted`)
  assert.ok(accepted >= 1_000 * seconds * 0.95, `${accepted} accepted`)
  assert.ok(asked() <= 25 * seconds, `${asked()} statements`)
  assert.ok(waited <= accepted / 20, `${waited} waited`)
})

test('unused reservations do not enlarge a later burst', async () => {
  const clock = new ManualClock()
  const { reserve } = model()
  const [one, other] = [1, 2].map(
    () => new SharedSourceRate('source', 100, { reserve, clock, onError: unexpected }),
  ) as [SharedSourceRate, SharedSourceRate]
  for (let index = 0; index < 20; index += 1) await one.take(clock.now())
  clock.pass(5_000)
  let accepted = 0
  for (let index = 0; index < 300; index += 1)
    if ((await (index % 2 ? one : other).take(clock.now())).allowed) accepted += 1
  assert.equal(accepted, 100)
})

test('without a response, or after a failure, a process applies the rate alone; a clock that is set back blocks no sender', async () => {
  const clock = new ManualClock()
  const errors: unknown[] = []
  let answer = Promise.withResolvers<Reserved>()
  const rate = new SharedSourceRate('source', 2, {
    reserve: () => answer.promise,
    clock,
    onError: (error) => errors.push(error),
  })
  const waiting = [1, 2, 3].map(async () => rate.take(clock.now()))
  await Promise.resolve()
  clock.pass(1_000)
  assert.deepEqual(each(await Promise.all(waiting), 'allowed'), [true, true, false])
  assert.equal((await rate.take(clock.now())).allowed, false, 'nothing is asked for a while')
  clock.pass(6_000)
  assert.equal('allowed' in rate.take(clock.now()), true, 'no webhook waits for a request that is late')
  answer.reject(new Error('away'))
  clock.pass(5_000)
  answer = Promise.withResolvers<Reserved>()
  answer.resolve({ granted: 0, owed: 1_000 })
  assert.equal((await rate.take(clock.now())).allowed, true, 'since the failure came late')
  await new Promise((resolve) => void setImmediate(resolve))
  assert.equal(errors.length, 1)
  clock.time -= 3_600_000
  answer = Promise.withResolvers<Reserved>()
  answer.resolve({ granted: 1, owed: 500 })
  assert.equal((await rate.take(clock.now())).allowed, true)
})
