import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import type { ClaimSession } from './claim-session.ts'
import { StorageUnavailable } from '../../unavailable.ts'
import { Claimer } from './claimer.ts'

/** A claimer whose sessions answer at once, except to these calls, and the end of its session. */
function claimerOver(calls: Partial<ClaimSession>) {
  const clock = new ManualClock()
  const errors: string[] = []
  let onBroken: ((error?: Error) => void) | undefined
  const session: Partial<ClaimSession> = {
    enlist: () => Promise.resolve({ id: 1, held: true }),
    findMissing: () => Promise.resolve([]),
    end: () => Promise.resolve(),
    ...calls,
  }
  const claimer = new Claimer({
    clock,
    elapsed: () => clock.now(),
    onError: (error) => errors.push((error as Error).message),
    open(broken) {
      onBroken = broken
      return { ...session } as ClaimSession
    },
  })
  const pass = async (ms: number): Promise<void> => {
    clock.pass(ms)
    await nextTurn()
  }
  return { claimer, errors, pass, breakSession: (error?: Error) => onBroken!(error) }
}

test('a lock that is granted after the number was lost ends with its session', async () => {
  const enlisted: (number | undefined)[] = []
  let ended = 0
  let answer: (() => void) | undefined
  let lost = 0
  const { claimer, pass, breakSession } = claimerOver({
    enlist: (id) => {
      enlisted.push(id)
      if (id === undefined) return Promise.resolve({ id: enlisted.length, held: true })
      return new Promise((resolve) => (answer = () => resolve({ id, held: true })))
    },
    end: async () => void (ended += 1),
  })
  const leave = await claimer.join({ lost: () => (lost += 1), freed: () => undefined })
  assert.equal(claimer.id, 1)
  breakSession()
  await pass(100)
  assert.deepEqual(enlisted, [undefined, 1])
  await pass(2_000)
  assert.equal(lost, 1)
  assert.equal(ended, 1, 'that of the session that broke')
  answer!()
  await nextTurn()
  assert.equal(ended, 2)
  await pass(100)
  assert.equal(claimer.id, 3)
  await leave(false)
})

for (const clean of [true, false])
  test(`the last user to leave ends the session, and ${clean ? 'the number' : 'no number that still has claims'}`, async () => {
    const ended: string[] = []
    const { claimer } = claimerOver({
      leave: async (id) => void ended.push(`number ${id}`),
      end: async () => void ended.push('session'),
    })
    const users = [
      { lost: () => undefined, freed: () => undefined },
      { lost: () => undefined, freed: () => undefined },
    ]
    const [first, second] = await Promise.all(users.map((user) => claimer.join(user)))
    await first!(clean)
    await first!(true)
    assert.deepEqual(ended, [])
    assert.equal(claimer.id, 1)
    await second!(true)
    assert.deepEqual(ended, clean ? ['number 1', 'session'] : ['session'])
    await assert.rejects(claimer.join(users[0]!), StorageUnavailable)
  })

test('a loss and freed claims are reported to every user of the claimer', async () => {
  const told: string[] = []
  let isUp = true
  const { claimer, pass, breakSession } = claimerOver({
    enlist: () => (isUp ? Promise.resolve({ id: 1, held: true }) : Promise.reject(new Error('refused'))),
    findMissing: () => Promise.resolve([7]),
    takeOver: () => Promise.resolve(1),
  })
  for (const name of ['events', 'queues'])
    await claimer.join({
      lost: () => void told.push(`${name} lost`),
      freed: () => void told.push(`${name} freed`),
    })
  for (let n = 0; n < 8; n += 1) await pass(500)
  assert.deepEqual(told.splice(0).slice(0, 2), ['events freed', 'queues freed'])
  isUp = false
  breakSession()
  await pass(100)
  await pass(2_000)
  assert.deepEqual(told.slice(0, 2), ['events lost', 'queues lost'])
})

test('equal errors of attempts to reconnect are reported once', async () => {
  let working = true
  const { claimer, errors, pass, breakSession } = claimerOver({
    enlist: async () => {
      if (!working) throw new Error('refused')
      return { id: 1, held: true }
    },
  })
  const leave = await claimer.join({ lost: () => undefined, freed: () => undefined })
  for (let outage = 0; outage < 2; outage += 1) {
    working = false
    breakSession(new Error('gone'))
    for (let attempt = 0; attempt < 5; attempt += 1) await pass(100)
    working = true
    await pass(100)
    assert.equal(claimer.id, 1)
  }
  assert.deepEqual(errors, ['gone', 'refused', 'gone', 'refused'])
  await leave(false)
})

test('a take-over that takes long delays no proof that the process lives, and is tried again if it fails', async () => {
  let checks = 0
  let freed = 0
  const takeOvers: PromiseWithResolvers<number>[] = []
  const { claimer, pass } = claimerOver({
    async findMissing() {
      checks += 1
      return [7]
    },
    takeOver() {
      takeOvers.push(Promise.withResolvers<number>())
      return takeOvers.at(-1)!.promise
    },
  })
  const leave = await claimer.join({ lost: () => assert.fail('lost'), freed: () => (freed += 1) })
  for (let n = 0; n < 40; n += 1) await pass(500)
  assert.equal(checks, 40)
  assert.equal(takeOvers.length, 1, 'one at a time')
  assert.equal(claimer.isLeaseValid, true)
  takeOvers[0]!.reject(new Error('out of time'))
  await pass(500)
  await pass(500)
  assert.equal(takeOvers.length, 2)
  takeOvers[1]!.resolve(3)
  await pass(500)
  assert.equal(freed, 1)
  await leave(false)
})

test('a take-over that hangs on a silent path does not delay that of the next session', async () => {
  let takeOvers = 0
  const { claimer, pass, breakSession } = claimerOver({
    findMissing: () => Promise.resolve([7]),
    takeOver: () => {
      takeOvers += 1
      return new Promise(() => undefined)
    },
  })
  const leave = await claimer.join({ lost: () => undefined, freed: () => undefined })
  for (let n = 0; n < 20; n += 1) await pass(500)
  assert.equal(takeOvers, 1)
  breakSession()
  for (let n = 0; n < 20; n += 1) await pass(500)
  assert.equal(takeOvers, 2)
  await leave(false)
})
