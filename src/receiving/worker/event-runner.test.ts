import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { claimedEvent, registeredHandler } from '#test/harness/handled-events.ts'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import { InFlight } from '../../runtime/worker.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { createLog } from '../../telemetry/log.ts'
import { Metrics } from '../../telemetry/metrics.ts'
import { plansOver } from '../handlers/plan.ts'
import { ConcurrencyGroups } from './concurrency-groups.ts'
import { EventRunner } from './event-runner.ts'
import type { WorkerContext } from './worker-parts.ts'
import { RestoredClaims } from './claims.ts'
import { leaseMargin, mostTimeAhead } from './timing.ts'

const timeout = 30_000
const types = ['order.paid', 'order.sent', 'order.returned']

/** A runner of several groups, which share a handler that runs one event at a time, until it is told to end. */
function runnerOf() {
  const clock = new ManualClock()
  const ends: (() => void)[] = []
  const extended: [event: number, until: number][] = []
  const aborts = new AbortBroadcast()
  const failed: unknown[] = []
  const commit = Promise.withResolvers<void>()
  const started: string[] = []
  /** Called while a lease is extended. */
  const meanwhile = { run: (): void => undefined }
  const shared = registeredHandler('*', {
    handle: () => new Promise<void>((resolve) => ends.push(resolve)),
    timeout: timeout / 2,
    concurrency: 1,
  })
  const handlers = new Map(
    types.map((type) => [type, [registeredHandler(type, { timeout: timeout / 2 }), shared]]),
  )
  handlers.set('order.told', [
    registeredHandler('order.told', { handle: async (_event, { emit }) => emit({ type: 'told', data: 1 }) }),
  ])
  const planOf = plansOver('sqlite', (_source, type) => handlers.get(type)!)
  const scope = {
    waited: 0,
    took: 0,
    within: <T>(work: () => T): T => work(),
    release: async () => ({ committed: commit.promise }),
    rollback: async () => undefined,
  }
  const update = { until: 0, event: 0 }
  const statement = {
    updateTable: () => statement,
    set(values: { leased_until: number }) {
      update.until = values.leased_until
      return statement
    },
    where(column: string, _is: string, value: number) {
      if (column === 'event') update.event = value
      return statement
    },
    async executeTakeFirstOrThrow() {
      extended.push([update.event, update.until])
      meanwhile.run()
      return { numUpdatedRows: 1n }
    },
  }
  const nothing = (): void => undefined
  const runner = new EventRunner(
    {
      clock,
      planOf,
      log: createLog('silent'),
      metrics: new Metrics(),
      groups: new ConcurrencyGroups(),
      inFlight: new InFlight(),
      restored: new RestoredClaims(),
      mayContinue: () => true,
      claims: { releaseSoon: nothing, release: async (events: unknown) => void failed.push(events) },
      aborts,
      schedule: [],
      database: { transaction: (work: (tx: unknown) => unknown) => work(statement) },
      transactions: { begin: () => scope },
      emitWithin:
        async (_tx: unknown, [{ type }]: [{ type: string }]) =>
        () =>
          started.push(type),
    } as unknown as WorkerContext,
    nothing,
  )
  return { clock, runner, ends, extended, aborts, failed, meanwhile, commit, started }
}

test('an event that was queued for long has a whole lease when its handlers start', async () => {
  const { clock, runner, ends, extended } = runnerOf()
  runner.enqueue(
    types.map((type, index) => claimedEvent({ event: index + 1, eventId: `e${index + 1}`, type })),
    clock.now(),
  )
  await nextTurn()
  clock.pass(mostTimeAhead)
  ends.shift()!()
  await nextTurn()
  assert.deepEqual(extended, [], 'a wait that the lease allows for')
  clock.pass(1)
  ends.shift()!()
  await nextTurn()
  assert.equal(ends.length, 1)
  assert.deepEqual(extended, [[3, clock.now() + timeout + leaseMargin]])
})

test('handlers do not start if the claims are lost while the lease is extended', async () => {
  const { clock, runner, ends, extended, aborts, failed, meanwhile } = runnerOf()
  const late = claimedEvent()
  meanwhile.run = () => aborts.abortCurrent(new StorageUnavailable(new Error('the session was lost')))
  runner.enqueue([late], clock.now() - mostTimeAhead - 1)
  await nextTurn()
  assert.equal(extended.length, 1)
  assert.deepEqual([ends.length, failed], [0, [[late]]])
})

test('deliveries of emitted events start after the commit, without a scan', async () => {
  const { clock, runner, commit, started } = runnerOf()
  runner.enqueue([claimedEvent({ type: 'order.told' })], clock.now())
  await nextTurn()
  assert.deepEqual(started, [])
  commit.resolve()
  await nextTurn()
  assert.deepEqual(started, ['told'])
})
