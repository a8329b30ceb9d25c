import type { Database, Signal } from '../../../src/storage/database.ts'
import type { Log } from '../../../src/telemetry/log.ts'
import type { Metrics } from '../../../src/telemetry/metrics.ts'
import { reprocessStep } from '../../../src/receiving/failed/reprocess.ts'
import type { IncomingEvent, ProcessedMarker } from '../../../src/receiving/queue/store.ts'
import { AbortBroadcast } from '../../../src/runtime/abort-broadcast.ts'
import { neverPaused, withoutGroups } from '../../harness/handled-events.ts'
import { HandlerWorker } from '../../../src/receiving/worker/worker.ts'
import { TransactionOver } from '../../../src/storage/lazy-transaction.ts'
import { StorageUnavailable } from '../../../src/storage/unavailable.ts'
import type { Engine } from './engine.ts'
import { postgresEngine } from './postgres-engine.ts'
import { sqliteEngine } from './sqlite-engine.ts'
import { VirtualProcess } from './virtual-time.ts'
import { emitWithin, planOf, Running, type Task } from './work.ts'
import type { World } from './world.ts'

/** Milliseconds that a transaction may be open on SQLite. */
const transactionTimeout = 900

export interface NodeParts {
  world: World
  tasks: ReadonlyMap<string, Task>
  schedule: readonly number[]
  /** Sessions in each of its pools, on PostgreSQL. */
  connections: number
  fail: (what: string) => void
  /** A handler has ended the process. */
  exit: (node: ServiceNode) => void
}

/** Failed events that one transaction makes due. */
const perStep = 500

/** A process of the service: the real worker over the simulated database. */
export class ServiceNode {
  readonly process: VirtualProcess
  readonly #engine: Engine
  readonly #world: World
  readonly #worker: HandlerWorker

  constructor(name: string, { world, tasks, schedule, connections, fail, exit }: NodeParts) {
    const { time, chance, trace } = world
    this.#world = world
    // Clocks differ between machines, and one machine has an SQLite file.
    const skew = world.engine === 'sqlite' ? 0 : 400 * (chance.next() - 0.5)
    const process = (this.process = new VirtualProcess(name, time, chance, skew))
    const engine = (this.#engine =
      world.engine === 'sqlite' ? sqliteEngine(world, process) : postgresEngine(world, process, connections))
    this.#worker = new HandlerWorker({
      database: engine.database,
      store: engine.store,
      transactions: engine.share((tx, marks: readonly ProcessedMarker[]) =>
        engine.store.markProcessed(tx, marks),
      ),
      aborts: new AbortBroadcast(),
      clock: process,
      scheduler: process,
      random: () => chance.next(),
      log: logTo((message) => trace(name, message)),
      metrics: noMetrics,
      emitWithin: emitWithin(world),
      transactionTimeout: world.engine === 'sqlite' ? transactionTimeout : undefined,
      schedule,
      planOf: planOf({ world, process, tasks, running: new Running(), fail, exit: () => exit(this) }),
      pauses: neverPaused,
      failureGroups: withoutGroups,
      close: () => Promise.resolve(),
    })
    trace(name, 'starts')
    this.#worker.start()
  }

  get database(): Database {
    return this.#engine.database
  }

  keep(events: readonly IncomingEvent[]): Promise<void> {
    return this.#engine.keep(events)
  }

  /** What other processes notify of. */
  hear(name: Signal): void {
    this.#engine.signals.emit(name)
  }

  /** kill -9 */
  kill(): void {
    this.#world.trace(this.process.name, 'is killed')
    this.process.alive = false
    this.#engine.kill()
  }

  /** Resolves when the process has ended by itself. @param within milliseconds that handlers are given */
  async stop(within: number): Promise<void> {
    this.#world.trace(this.process.name, `is asked to stop within ${Math.round(within)} ms`)
    const deadline = new AbortController()
    this.process.after(within, () => deadline.abort())
    await this.#worker.stop(deadline.signal)
    this.#world.trace(this.process.name, 'has stopped')
    this.process.alive = false
    this.#engine.kill()
  }

  /** All that have failed get their attempts again, in steps that are repeated as those of a job are. */
  async reprocess(): Promise<void> {
    const filter = JSON.stringify({ upTo: Number.MAX_SAFE_INTEGER, begunAt: Number.MAX_SAFE_INTEGER })
    for (let position = 0; ;) {
      const step = await this.database
        .transaction((tx) =>
          reprocessStep(
            this.database.engine,
            tx,
            { filter, position },
            { limit: perStep, now: this.process.now() },
          ),
        )
        .catch((error: unknown) => {
          // A connection of the pool broke in worse weather, and was not used since; or the process was suspended.
          if (!(error instanceof StorageUnavailable) && !(error instanceof TransactionOver)) throw error
        })
      if (!step) continue
      this.database.signal('event_queue')
      if (step.done) return
      position = step.last ?? position
    }
  }
}

function logTo(write: (message: string) => void): Log {
  const line = (first: { err?: Error; event?: number }, message?: string): void =>
    write(
      `logs: ${message ?? ''} ${first.event ?? ''} ${first.err ? `${first.err.name}: ${first.err.message}` : ''}`,
    )
  const log = { debug: line, info: line, warn: line, error: line, child: () => log } as unknown as Log
  return log
}

const noMetrics = {
  counter: () => ({ inc: () => undefined }),
  gauge: () => undefined,
  seconds: () => () => undefined,
  durations: { handlers: { observe: () => undefined } },
} as unknown as Metrics
