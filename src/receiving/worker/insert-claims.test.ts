import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RegisteredHandler } from '../handlers/declared-handlers.ts'
import { plansOver } from '../handlers/plan.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import type { ClaimedEvent } from '../queue/store.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { ConcurrencyGroups } from './concurrency-groups.ts'
import { InsertClaims } from './insert-claims.ts'

const registered = (key: string, concurrency?: number): RegisteredHandler => ({
  id: key,
  key,
  handle: () => {},
  timeout: 30_000,
  concurrency,
  orderBy: undefined,
})
const handlers = new Map([
  ['quick', [registered('quick')]],
  ['slow', [registered('slow')]],
  ['bounded', [registered('bounded', 2)]],
])
const planOf = plansOver('postgres', (_, type) => handlers.get(type) ?? [])

const incoming = (type: string, more: Partial<IncomingEvent> = {}): IncomingEvent => ({
  source: 'shop',
  eventId: 'e',
  type,
  contentType: 'application/json',
  payload: new Uint8Array(),
  headers: '{}',
  receivedAt: 1_000,
  status: 'pending',
  dueAt: 1_000,
  orderKey: null,
  ...more,
})
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
    hasSession: true,
    begun: [] as (readonly ClaimedEvent[])[],
    lost: [] as string[],
    woken: 0,
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
    pauses: { holds: () => state.paused },
    groups,
    runner: {
      get isScarce() {
        return state.isScarce
      },
      begin: (claimed) => void state.begun.push(claimed),
    },
    unsettled: { claimLost: (claim) => void state.lost.push(claim) },
    wakeUps: { now: () => void (state.woken += 1) },
    isIdle: () => state.isIdle,
  })
  return { state, claims, groups }
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
  const { claims, groups } = setUp()
  const most = groups.claimable(planOf('shop', 'quick'), false)
  const first = claims.choose(quick(most - 1))!
  const second = claims.choose(quick(2))!
  assert.equal(second.until.size, 1)
  assert.equal(claims.choose(quick(1)), undefined)
  first.failed(new Error('a value has no encoding'))
  assert.equal(groups.claimable(planOf('shop', 'quick'), false), most - 1)
  second.stored(claimed)
  assert.equal(groups.claimable(planOf('shop', 'quick'), false), most)
})

test('claims begin, or are given back if they may be void', () => {
  const { state, claims } = setUp()
  const choose = () => claims.choose(quick(1))!
  choose().stored(claimed)
  assert.deepEqual([state.begun, state.lost], [[claimed], []])
  choose().stored([])
  choose().failed(new Error('an event was known'))
  assert.deepEqual([state.begun.length, state.lost], [1, []], 'nothing was claimed')
  choose().failed(new StorageUnavailable(new Error('no answer')))
  const beforeLoss = choose()
  claims.forget()
  beforeLoss.stored(claimed)
  const late = choose()
  state.now += 1_001
  late.stored(claimed)
  assert.deepEqual([state.begun.length, state.lost.length, state.woken], [1, 3, 3])
})

test('a stop waits for the inserts that claim', async () => {
  const { claims } = setUp()
  let ended = false
  const claim = claims.choose(quick(1))!
  const waiting = claims.ended().then(() => (ended = true))
  await Promise.resolve()
  assert.equal(ended, false)
  claim.stored(claimed)
  await waiting
})
