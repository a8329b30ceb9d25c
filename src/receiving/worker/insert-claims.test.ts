import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registeredHandler } from '#test/harness/handled-events.ts'
import { incomingEvent } from '#test/receiving/incoming-event.ts'
import { plansOver } from '../handlers/plan.ts'
import type { ClaimedEvent, IncomingEvent } from '../queue/store.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { ConcurrencyGroups } from './concurrency-groups.ts'
import { InsertClaims, type InsertClaimsParts } from './insert-claims.ts'

const handlers = new Map([
  ['quick', [registeredHandler('quick')]],
  ['slow', [registeredHandler('slow')]],
  ['bounded', [registeredHandler('bounded', { concurrency: 2 })]],
])
const planOf = plansOver('postgres', (_, type) => handlers.get(type) ?? [])

const incoming = (type: string, more: Partial<IncomingEvent> = {}): IncomingEvent =>
  incomingEvent('e', { type, receivedAt: 1_000, dueAt: 1_000, ...more })
const quick = (count: number): IncomingEvent[] => Array.from({ length: count }, () => incoming('quick'))

/** The claims of a worker whose handlers of `quick` and `bounded` have been quick lately. */
function setUp() {
  const groups = new ConcurrencyGroups()
  for (const [type, ms] of [
    ['quick', 1],
    ['bounded', 1],
    ['slow', 900],
  ] as const)
    for (let run = 0; run < 8; run += 1) groups.succeeded(planOf('shop', type), ms, 1)
  const state = {
    now: 1_000,
    isIdle: true,
    isScarce: false,
    paused: false,
    isFresh: true,
    hasSession: true,
    begun: [] as (readonly ClaimedEvent[])[],
    released: [] as (readonly ClaimedEvent[])[],
    lost: [] as unknown[],
    woken: 0,
    voided: 0,
    turns: [] as (() => void)[],
  }
  const claims = new InsertClaims({
    store: {
      newClaim() {
        if (!state.hasSession) throw new StorageUnavailable(new Error('no session'))
        return '1:claim'
      },
    },
    clock: { now: () => state.now },
    planOf,
    pauses: {
      get isFresh() {
        return state.isFresh
      },
      isPaused: () => state.paused,
    },
    groups,
    runner: {
      get isScarce() {
        return state.isScarce
      },
      enqueue: (claimed: readonly ClaimedEvent[]) => void state.begun.push(claimed),
    },
    suspects: { excludes: () => false },
    claims: {
      get voided() {
        return state.voided
      },
      releaseSoon: (events: readonly ClaimedEvent[]) => void state.released.push(events),
      unanswered: (lost: unknown) => void state.lost.push(lost),
    },
    wakeUps: { now: () => void (state.woken += 1) },
    scheduler: { soon: (turn: () => void) => void state.turns.push(turn) },
    isIdle: () => state.isIdle,
  } as unknown as InsertClaimsParts)
  const nextTurn = (): void => {
    for (const turn of state.turns.splice(0)) turn()
  }
  return { state, claims, groups, nextTurn }
}

const claimed = [{ event: 1 } as ClaimedEvent]

test('only events are claimed that the worker would start now', () => {
  const { state, claims } = setUp()
  const [due, ordered] = [incoming('quick'), incoming('quick', { orderKey: 'k' })]
  const others = [
    ordered,
    incoming('quick', { dueAt: 1_001 }),
    incoming('quick', { status: 'processed' }),
    incoming('slow'),
    incoming('bounded'),
  ]
  assert.deepEqual(claims.choose([...others, due])?.until, new Map([[due, 36_000]]))
  assert.equal(claims.choose(others), undefined)
  for (const [key, value] of [
    ['isIdle', false],
    ['isScarce', true],
    ['paused', true],
    ['hasSession', false],
  ] as const) {
    state[key] = value
    assert.equal(claims.choose([due]), undefined, key)
    state[key] = !value
  }
})

test('inserts that run at once claim no more together than the handlers can take', () => {
  const { claims, groups, nextTurn } = setUp()
  const most = groups.claimable(planOf('shop', 'quick'), false)
  const first = claims.choose(quick(most - 1))!
  const second = claims.choose(quick(2))!
  assert.equal(second.until.size, 1)
  assert.equal(claims.choose(quick(1)), undefined)
  first.failed()
  assert.equal(groups.claimable(planOf('shop', 'quick'), false), most - 1)
  second.stored(claimed)
  nextTurn()
  assert.equal(groups.claimable(planOf('shop', 'quick'), false), most)
})

test('claimed events begin in the next turn, after the acknowledgement', () => {
  const { state, claims, nextTurn } = setUp()
  claims.choose(quick(1))!.stored(claimed)
  assert.deepEqual(state.begun, [])
  nextTurn()
  assert.deepEqual([state.begun, state.released], [[claimed], []])
})

for (const [name, happens] of [
  ['the session was lost, or the database restored', ({ state }) => void (state.voided += 1)],
  ['the answer came late', ({ state }) => void (state.now += 1_001)],
  ['the handler was paused', ({ state }) => void (state.paused = true)],
  ['it is not known whether it was paused', ({ state }) => void (state.isFresh = false)],
] as [string, (made: ReturnType<typeof setUp>) => void][]) {
  test(`claimed events are given back if ${name}`, () => {
    const made = setUp()
    made.claims.choose(quick(1))!.stored(claimed)
    happens(made)
    made.nextTurn()
    assert.deepEqual([made.state.begun, made.state.released], [[], [claimed]])
  })
}

test('the events of an insert that failed are looked for: it may have taken effect', () => {
  const { state, claims } = setUp()
  const [event] = quick(1)
  claims.choose([event!])!.failed()
  assert.deepEqual(state.lost, [{ claim: '1:claim', events: [event] }])
  assert.equal(state.woken, 1)
})

test('a stop waits for the inserts that claim', async () => {
  const { claims, nextTurn } = setUp()
  let ended = false
  const claim = claims.choose(quick(1))!
  const waiting = claims.ended().then(() => (ended = true))
  await Promise.resolve()
  assert.deepEqual([ended, claims.any], [false, true])
  claim.stored(claimed)
  nextTurn()
  await waiting
  assert.equal(claims.any, false)
})
