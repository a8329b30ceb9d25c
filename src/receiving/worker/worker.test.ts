import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { Metrics } from '../../telemetry/metrics.ts'
import { createLog } from '../../telemetry/log.ts'
import { withoutGroups } from '../failure-groups/tally.ts'
import { plansOver } from '../handlers/plan.ts'
import type { EventQueue } from '../queue/store.ts'
import { perRound } from './due-kinds.ts'
import { HandlerWorker, type WorkerParts } from './worker.ts'

test('a handler that is paused during a pass gets no event in its next round', async () => {
  const order = {
    id: 'order',
    key: 'order',
    handle: () => {},
    timeout: 1,
    concurrency: undefined,
    orderBy: undefined,
  }
  let rounds = 0
  let claims = 0
  let isPaused = false
  const passed = Promise.withResolvers<void>()
  const store: Partial<EventQueue> = {
    slots: undefined,
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
  const handlers = [order]
  const parts: Partial<WorkerParts> = {
    store: store as EventQueue,
    database: {
      engine: 'sqlite',
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
