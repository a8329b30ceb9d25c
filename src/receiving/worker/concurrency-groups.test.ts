import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimedEvent, registeredHandler } from '#test/harness/handled-events.ts'
import { ConcurrencyGroups } from './concurrency-groups.ts'
import { plansOver, type Plan } from '../handlers/plan.ts'

const planOn = (engine: 'sqlite' | 'postgres', concurrency?: number): Plan => {
  const handlers = [registeredHandler('order.paid', { concurrency })]
  return plansOver(engine, () => handlers)('shop', 'order.paid')
}

const claimedOf = (bytes: number) => claimedEvent({ payload: new Uint8Array(bytes) })

function after(plan: Plan, ...lasted: number[]): ConcurrencyGroups {
  const groups = new ConcurrencyGroups()
  for (const ms of lasted) groups.succeeded(plan, ms, 1)
  return groups
}

test('on PostgreSQL, a group of fast handlers gets more slots', () => {
  const plan = planOn('postgres')
  assert.equal(new ConcurrencyGroups().room(plan, false), 8, 'nothing is known of them')
  assert.equal(after(plan, 5, 5, 5).room(plan, false), 8)
  assert.equal(after(plan, 5, 5, 5, 40).room(plan, false), 64)
  assert.equal(after(plan, 5, 5, 5, 5, 51).room(plan, false), 8, 'one took longer')
  const failed = after(plan, 5, 5, 5, 5)
  failed.failed(plan)
  assert.equal(failed.room(plan, false), 8, 'one failed')
  assert.equal(after(plan, 5, 5, 5, 5).room(plan, true), 1, 'places are scarce')
})

test('after a transaction timeout, a group runs one event at a time for a while', () => {
  const plan = planOn('sqlite')
  const groups = new ConcurrencyGroups()
  assert.ok(groups.isShort(plan), 'nothing is known of it')
  groups.ranOutOfTime(plan)
  const rooms = Array.from({ length: 8 }, () => {
    groups.succeeded(plan, 1, 1)
    return [groups.room(plan, false), groups.isShort(plan)]
  })
  assert.deepEqual(rooms[0], [1, false])
  assert.deepEqual(rooms[5], [8, false])
  assert.deepEqual(rooms.at(-1), [8, true])
})

test('a group that delayed a shared transaction does not share for a while', () => {
  const plan = planOn('sqlite')
  const groups = after(plan, 1)
  groups.heldUpOthers(plan)
  assert.deepEqual([groups.isShort(plan), groups.room(plan, false)], [false, 8])
  for (let run = 0; run < 4; run += 1) groups.succeeded(plan, 1, 1)
  assert.ok(groups.isShort(plan))
})

test('on SQLite, and with a declared concurrency, the number of slots stays the same', () => {
  for (const [plan, places] of [
    [planOn('sqlite'), 8],
    [planOn('postgres', 3), 3],
    [planOn('postgres', 100), 100],
  ] as const)
    assert.equal(after(plan, 1, 1, 1, 1).room(plan, false), places)
})

test('the number of events claimed ahead follows the speed of the handlers, within bounds', () => {
  const plan = planOn('postgres', 8)
  const claimable = (...lasted: number[]): number => after(plan, ...lasted).claimable(plan, false)
  assert.equal(claimable(), 8, 'what finds a place')
  assert.equal(claimable(5, 5, 5, 200), 128)
  assert.equal(claimable(5, 5, 5, 5), 512)
  const groups = after(plan, 5, 5, 5, 5)
  const claimed = claimedOf(1024 * 1024)
  for (let number = 0; number < 200; number += 1) groups.queue({ plan, claimed, claimedAt: 0 })
  for (let number = 0; number < 200; number += 1) groups.takeNext(plan, false)
  const queued = groups.withdraw().length
  assert.equal(queued, 192, 'eight have a place')
  assert.ok(groups.claimable(plan, false) <= 17, '16 MiB of payloads of one MiB')
})

test('no more is claimed ahead than the handlers can start before the leases end', () => {
  const [slow, fast] = [planOn('postgres', 1), planOn('postgres')]
  assert.equal(after(slow, ...Array<number>(12).fill(45)).claimable(slow, false), 89, 'four seconds of 45 ms')
  assert.equal(after(fast, ...Array<number>(12).fill(45)).claimable(fast, false), 512)
  assert.equal(after(slow, ...Array<number>(12).fill(1)).claimable(slow, false), 512)
})

/** Plans of three types, each with a group of its own, whose handler for all events bounds them together. */
function boundPlans(concurrency: number): [Plan, Plan, Plan] {
  const everything = registeredHandler('*', { concurrency })
  const planFor = (type: string): Plan => {
    const handlers = [registeredHandler(type), everything]
    return plansOver('postgres', () => handlers)('shop', type)
  }
  return [planFor('a'), planFor('b'), planFor('c')]
}

test('groups that wait for the same bound take turns', () => {
  const groups = new ConcurrencyGroups()
  const [a, b, c] = boundPlans(1)
  const refill = (plan: Plan): void => groups.queue({ plan, claimed: claimedOf(1), claimedAt: 0 })
  for (const plan of [a, b, c, a, b, c]) refill(plan)
  let running = groups.takeNext(a, false)!.plan
  const order = [running]
  for (let turn = 0; turn < 5; turn += 1) {
    groups.freeSlot(running)
    const next = [...groups.waiting(running)].find((plan) => groups.room(plan, false) > 0)
    running = groups.takeNext(next!, false)!.plan
    order.push(running)
    refill(running)
  }
  assert.deepEqual(order, [a, b, c, a, b, c])
})

test('an event starts by the bounds of its own plan', () => {
  const groups = new ConcurrencyGroups()
  const [a] = boundPlans(1)
  const free = { ...a, bounds: [] }
  groups.queue({ plan: a, claimed: claimedOf(1), claimedAt: 0 })
  groups.queue({ plan: a, claimed: claimedOf(1), claimedAt: 0 })
  assert.ok(groups.takeNext(free, false))
  assert.equal(groups.takeNext(free, false), undefined)
})

test('quick handlers of one bound are claimed ahead for four seconds together, and not behind slow ones', () => {
  const [a, b, c] = boundPlans(1)
  const groups = new ConcurrencyGroups()
  for (const plan of [a, b]) for (let run = 0; run < 12; run += 1) groups.succeeded(plan, 45, 1)
  assert.equal(groups.claimable(a, false), 89)
  groups.reserve(a, 50)
  assert.equal(groups.claimable(b, false), 39)
  groups.reserve(a, -50)
  for (let number = 0; number < 89; number += 1)
    groups.queue({ plan: a, claimed: claimedOf(1), claimedAt: 0 })
  assert.equal(groups.claimable(b, false), 1, 'its turn')
  assert.equal(groups.claimable(c, false), 1, 'a handler that is not known to be quick gets its turn too')
  groups.withdraw()
  groups.queue({ plan: c, claimed: claimedOf(1), claimedAt: 0 })
  assert.ok(groups.takeNext(c, false))
  assert.equal(groups.claimable(a, false), 0)
})

test('a bound that is not reached changes nothing', () => {
  const [a, b] = boundPlans(100)
  const groups = new ConcurrencyGroups()
  for (const plan of [a, b]) for (let run = 0; run < 12; run += 1) groups.succeeded(plan, 5, 1)
  assert.equal(groups.claimable(a, false), 512)
  groups.reserve(a, 512)
  assert.equal(groups.claimable(b, false), 512)
})
