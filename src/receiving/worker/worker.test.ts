import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { claimedEvent, registeredHandler, neverPaused, withoutGroups } from '#test/harness/handled-events.ts'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import { SharedCommitFailed } from '../../storage/sharing/transaction-driver.ts'
import type { ClaimListener } from '../../storage/postgres/session/claimer.ts'
import { Metrics } from '../../telemetry/metrics.ts'
import { createLog } from '../../telemetry/log.ts'
import { plansOver } from '../handlers/plan.ts'
import type { ClaimedEvent, ClaimInserts, EventQueue, IncomingEvent } from '../queue/store.ts'
import { perRound } from './due-kinds.ts'
import type { WorkerParts } from './worker-parts.ts'
import { HandlerWorker } from './worker.ts'

/** A database without rows: there are no suspects. */
const reader = new Kysely({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

test('a handler that is paused during a pass gets no event in its next round', async () => {
  let rounds = 0
  let claims = 0
  let isPaused = false
  const passed = Promise.withResolvers<void>()
  const store: Partial<EventQueue> = {
    acquireSession: () => Promise.resolve(),
    releaseSession: () => Promise.resolve(),
    newClaim: () => 'claim',
    // So many kinds that another round follows, and then none.
    pendingKinds() {
      rounds += 1
      if (rounds > 2) passed.resolve()
      const kinds = rounds > 2 ? [] : Array.from({ length: perRound }, (_, index) => `order.${index}`)
      return Promise.resolve(kinds.map((type) => ({ source: 'shop', type, dueAt: 0 })))
    },
    claim() {
      claims += 1
      return Promise.resolve([])
    },
  }
  const handlers = [registeredHandler('order')]
  const parts: Partial<WorkerParts> = {
    store: store as EventQueue,
    database: {
      engine: 'sqlite',
      reader,
      onSignal: () => () => undefined,
      onSetBack: () => () => undefined,
      signalOthers: () => undefined,
    } as unknown as WorkerParts['database'],
    clock: new ManualClock(),
    log: createLog('silent'),
    metrics: new Metrics(),
    failureGroups: withoutGroups,
    planOf: plansOver('sqlite', () => handlers),
    pauses: {
      isFresh: false,
      refresh() {
        isPaused = claims > 0
        return Promise.resolve()
      },
      isPaused: () => isPaused,
    },
    close: () => Promise.resolve(),
  }
  const worker = new HandlerWorker(parts as WorkerParts)
  worker.start()
  await passed.promise
  await worker.stop(new AbortController().signal)
  assert.equal(claims, 1)
})

const claimedOf = (type: string): ClaimedEvent => claimedEvent({ eventId: type, type })

/** A started worker that claims one event of each type, as a process on PostgreSQL. */
async function startedWorker(
  handle: Readonly<Record<string, () => Promise<void> | void>>,
  transaction: WorkerParts['database']['transaction'],
  firstCommit = Promise.resolve(),
) {
  const commits = [firstCommit]
  const due = Object.keys(handle).map((type) => ({ source: 'shop', type, dueAt: 0 }))
  const state: { choose?: ClaimInserts; session?: ClaimListener; isClean?: boolean } = {}
  const store: Partial<EventQueue> = {
    acquireSession: async (listener) => void (state.session = listener),
    releaseSession: async (clean) => void (state.isClean = clean),
    newClaim: () => 'claim',
    pendingKinds: async () => due.slice(),
    claim: async () => due.splice(0).map(({ type }) => claimedOf(type)),
    claimInserts: (by) => (state.choose = by),
  }
  const handlers = new Map(
    Object.entries(handle).map(([type, run]) => [
      type,
      [registeredHandler(type, { timeout: 1_000, handle: run })],
    ]),
  )
  const scope = {
    within: <T>(work: () => T): T => work(),
    release: async () => ({ committed: commits.shift() ?? Promise.resolve() }),
    rollback: async () => undefined,
    waited: 0,
    took: 0,
  }
  const nothing = (): void => undefined
  const worker = new HandlerWorker({
    store,
    database: {
      engine: 'postgres',
      reader,
      onSignal: () => nothing,
      onSetBack: () => nothing,
      signalOthers: nothing,
      transaction,
    },
    transactions: { begin: () => scope },
    aborts: new AbortBroadcast(),
    schedule: [],
    clock: new ManualClock(),
    scheduler: { soon: (callback: () => void) => callback() },
    log: createLog('silent'),
    metrics: new Metrics(),
    failureGroups: withoutGroups,
    planOf: plansOver('postgres', (_source, type) => handlers.get(type)!),
    pauses: neverPaused,
    close: () => Promise.resolve(),
  } as unknown as WorkerParts)
  worker.start()
  await nextTurn()
  return { worker, state }
}

test('the events of an insert that is answered after the deadline of a stop are left to other processes', async () => {
  const databaseAnswers = Promise.withResolvers<never>()
  const { worker, state } = await startedWorker(
    { quick: () => undefined, slow: () => new Promise<void>(() => undefined) },
    () => databaseAnswers.promise,
  )
  worker.wake()
  await nextTurn()
  const incoming = { ...claimedOf('quick'), status: 'pending', dueAt: 0 } as unknown as IncomingEvent
  const claim = state.choose!([incoming])!
  const deadline = new AbortController()
  const stopped = worker.stop(deadline.signal)
  await nextTurn()
  deadline.abort()
  await nextTurn()
  // The slow event is being released, so the stop has not ended.
  claim.stored([claimedOf('quick')])
  databaseAnswers.resolve(undefined as never)
  await stopped
  assert.equal(state.isClean, false)
})

test('an event is not run again under a claim that was lost during its commit', async () => {
  const commit = Promise.withResolvers<void>()
  let runs = 0
  const { worker, state } = await startedWorker(
    { quick: () => void (runs += 1) },
    // The database still has the claim: its lease can be extended.
    async () => ({ numUpdatedRows: 1n }) as never,
    commit.promise,
  )
  assert.equal(runs, 1)
  state.session!.lost()
  commit.reject(new SharedCommitFailed(new Error('another scope')))
  await nextTurn()
  assert.equal(runs, 1)
  await worker.stop(new AbortController().signal)
})
