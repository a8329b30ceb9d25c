import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimSession } from './claim-session.ts'
import { Claimer } from './claimer.ts'

test('a lock that is granted after the number was lost is released, because others use its session', async () => {
  const timers: { delay: number; run: () => void }[] = []
  /** Runs the timers with a delay of at most `most` milliseconds. */
  const pass = (most: number): void => {
    const due = timers.filter(({ delay }) => delay <= most)
    for (const timer of due) timers.splice(timers.indexOf(timer), 1)
    for (const { run } of due) run()
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const enlisted: (number | undefined)[] = []
  const unlocked: number[] = []
  let answer: (() => void) | undefined
  let breakSession: (() => void) | undefined
  let lost = 0
  const claimer = new Claimer({
    clock: {
      now: () => 0,
      after(delay, run) {
        const timer = { delay, run }
        timers.push(timer)
        return () => void timers.splice(timers.indexOf(timer), timers.includes(timer) ? 1 : 0)
      },
    },
    elapsed: () => 0,
    onError: () => undefined,
    open: (onBroken) => {
      breakSession = () => onBroken()
      const session: Partial<ClaimSession> = {
        enlist: (id) => {
          enlisted.push(id)
          if (id === undefined) return Promise.resolve({ id: enlisted.length, held: true })
          return new Promise((resolve) => (answer = () => resolve({ id, held: true })))
        },
        findMissing: () => Promise.resolve([]),
        unlock: async (id) => void unlocked.push(id),
        end: () => Promise.resolve(),
      }
      return session as ClaimSession
    },
  })
  await claimer.start({ lost: () => (lost += 1), freed: () => undefined })
  assert.equal(claimer.id, 1)
  breakSession!()
  pass(100)
  await turn()
  assert.deepEqual(enlisted, [undefined, 1])
  pass(2_000)
  assert.equal(lost, 1)
  answer!()
  await turn()
  assert.deepEqual(unlocked, [1])
  pass(100)
  await turn()
  assert.equal(claimer.id, 3)
  await claimer.close(false)
})

test('equal errors of attempts to reconnect are reported once', async () => {
  let due: (() => void) | undefined
  let working = true
  let breakSession: (() => void) | undefined
  const told: unknown[] = []
  const claimer = new Claimer({
    clock: {
      now: () => 0,
      after(delay, run) {
        if (delay === 100) due = run
        return () => undefined
      },
    },
    elapsed: () => 0,
    onError: (error) => told.push((error as Error).message),
    open: (onBroken) => {
      breakSession = () => onBroken(new Error('gone'))
      const session: Partial<ClaimSession> = {
        enlist: async () => {
          if (!working) throw new Error('refused')
          return { id: 1, held: true }
        },
        findMissing: () => Promise.resolve([]),
        end: () => Promise.resolve(),
      }
      return session as ClaimSession
    },
  })
  await claimer.start({ lost: () => undefined, freed: () => undefined })
  for (let outage = 0; outage < 2; outage += 1) {
    working = false
    breakSession!()
    for (let attempt = 0; attempt < 5; attempt += 1) {
      due!()
      await new Promise((resolve) => setImmediate(resolve))
    }
    working = true
    due!()
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(claimer.id, 1)
  }
  assert.deepEqual(told, ['gone', 'refused', 'gone', 'refused'])
  await claimer.close(false)
})

test('a take-over that takes long delays no proof that the process lives, and is tried again if it fails', async () => {
  let checks = 0
  let next: (() => void) | undefined
  let now = 0
  const takeOvers: PromiseWithResolvers<number>[] = []
  let freed = 0
  const claimer = new Claimer({
    clock: {
      now: () => now,
      after(_, run) {
        next = run
        return () => undefined
      },
    },
    elapsed: () => now,
    onError: () => undefined,
    open: () => {
      const session: Partial<ClaimSession> = {
        enlist: () => Promise.resolve({ id: 1, held: true }),
        async findMissing() {
          checks += 1
          return [7]
        },
        takeOver() {
          takeOvers.push(Promise.withResolvers<number>())
          return takeOvers.at(-1)!.promise
        },
        end: () => Promise.resolve(),
      }
      return session as ClaimSession
    },
  })
  const check = async (): Promise<void> => {
    now += 500
    next!()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await claimer.start({ lost: () => assert.fail('lost'), freed: () => (freed += 1) })
  for (let n = 0; n < 40; n += 1) await check()
  assert.equal(checks, 40)
  assert.equal(takeOvers.length, 1, 'one at a time')
  assert.equal(claimer.isLeaseValid, true)
  takeOvers[0]!.reject(new Error('out of time'))
  await check()
  await check()
  assert.equal(takeOvers.length, 2)
  takeOvers[1]!.resolve(3)
  await check()
  assert.equal(freed, 1)
  await claimer.close(false)
})

test('a take-over that hangs on a silent path does not delay that of the next session', async () => {
  let next: (() => void) | undefined
  let breakSession: (() => void) | undefined
  let now = 0
  let takeOvers = 0
  const claimer = new Claimer({
    clock: {
      now: () => now,
      after(_, run) {
        next = run
        return () => undefined
      },
    },
    elapsed: () => now,
    onError: () => undefined,
    open: (onBroken) => {
      breakSession = () => onBroken()
      const session: Partial<ClaimSession> = {
        enlist: () => Promise.resolve({ id: 1, held: true }),
        findMissing: () => Promise.resolve([7]),
        takeOver: () => {
          takeOvers += 1
          return new Promise(() => undefined)
        },
        end: () => Promise.resolve(),
      }
      return session as ClaimSession
    },
  })
  const pass = async (): Promise<void> => {
    now += 500
    next!()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await claimer.start({ lost: () => undefined, freed: () => undefined })
  for (let n = 0; n < 20; n += 1) await pass()
  assert.equal(takeOvers, 1)
  breakSession!()
  for (let n = 0; n < 20; n += 1) await pass()
  assert.equal(takeOvers, 2)
  await claimer.close(false)
})
