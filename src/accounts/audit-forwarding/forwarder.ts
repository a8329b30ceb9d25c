import { randomUUID } from 'node:crypto'
import type { Clock } from '../../runtime/clock.ts'
import { Period } from '../../runtime/period.ts'
import { periodicWorker, type PeriodicWorker } from '../../runtime/periodic-worker.ts'
import { whenAborted } from '../../runtime/when-aborted.ts'
import type { Worker } from '../../runtime/worker.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { AuditReader } from '../audit/audit-reader.ts'
import { ExportPosition } from './position.ts'
import type { AuditRow } from '../audit/audit-log.ts'

/** Entries of one batch. */
const batchSize = 100
/** Milliseconds between two polls for new entries. */
const interval = 1_000
/** Milliseconds for one batch. */
const timeout = 15_000
/** Milliseconds from a failure to the next attempt; doubled at each further failure, up to the longest. */
const [firstDelay, longestDelay] = [1_000, 300_000]

/** A receiver of audit entries. */
export interface AuditDestination {
  /** Sends a batch, in order. @throws when the receiver does not accept it in time, or `signal` is aborted. */
  send(rows: readonly AuditRow[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export interface AuditForwarderParts {
  database: Database
  clock: Clock
  log: Log
  metrics: Metrics
  /** AUDIT_EXPORT_URL. */
  url: string
  destination: AuditDestination
}

/**
 * Forwards the audit log in order and at least once: the position is stored after the destination accepted a batch, so a batch
 * may be sent again. Failures are retried with a growing delay. No entry is skipped, unless the retention of the audit log
 * deletes it first. A backlog does not affect readiness; the metric and `postern doctor` show it.
 */
export class AuditForwarder implements Worker {
  readonly name = 'audit-export'
  readonly #parts: AuditForwarderParts
  readonly #reader: AuditReader
  readonly #position: ExportPosition
  readonly #claim = randomUUID()
  readonly #sending = new AbortController()
  readonly #rounds: PeriodicWorker
  #stopped = false
  #failures = 0
  /** Between a failure and the next try. */
  readonly #pause = new Period()

  constructor(parts: AuditForwarderParts) {
    const { database, clock, metrics, url } = parts
    this.#parts = parts
    this.#reader = new AuditReader(database)
    this.#position = new ExportPosition(database, url)
    this.#rounds = periodicWorker(this.name, clock, interval, () =>
      this.#forward().catch((error: unknown) => this.#warn(error)),
    )
    metrics.gauge(
      'postern_audit_export_behind_seconds',
      'Age of the oldest entry of the audit log that AUDIT_EXPORT_URL has not accepted',
      [],
      async (gauge) => {
        const oldest = await this.#position.oldestWaiting()
        gauge.set(oldest === undefined ? 0 : Math.max(0, clock.now() - oldest) / 1000)
      },
    )
  }

  start(): void {
    this.#rounds.start()
  }

  async stop(deadline: AbortSignal): Promise<void> {
    this.#stopped = true
    whenAborted(deadline, () => this.#sending.abort())
    await this.#rounds.stop()
    await this.#parts.destination.close()
    // If the database does not answer, the claim expires.
    await this.#position.release(this.#claim).catch((error: unknown) => this.#warn(error))
  }

  async #forward(): Promise<void> {
    const { clock } = this.#parts
    if (this.#pause.has(clock.now())) return
    // Checked before claiming, so that an idle log causes no writes.
    if ((await this.#position.oldestWaiting()) === undefined) return
    let position = await this.#position.claim(this.#claim, clock.now())
    while (position !== undefined && !this.#stopped) {
      const rows = await this.#reader.page({ after: position }, batchSize)
      const last = rows.at(-1)
      if (!last) return
      try {
        await this.#send(rows)
      } catch (error) {
        return this.#recordFailure(error)
      }
      this.#failures = 0
      position = last.seq
      if (!(await this.#position.advance(this.#claim, position, clock.now()))) return
    }
  }

  async #send(rows: Parameters<AuditDestination['send']>[0]): Promise<void> {
    const limit = AbortSignal.timeout(timeout)
    await this.#parts.destination.send(rows, AbortSignal.any([limit, this.#sending.signal]))
  }

  async #recordFailure(error: unknown): Promise<void> {
    if (this.#stopped) return
    const { clock } = this.#parts
    const delay = Math.min(longestDelay, firstDelay * 2 ** this.#failures)
    this.#failures += 1
    const now = clock.now()
    this.#pause.start(now, delay)
    this.#warn(error)
    const message = error instanceof Error ? error.message : String(error)
    await this.#position.recordFailure(this.#claim, message, now, now + delay)
  }

  #warn(error: unknown): void {
    this.#parts.log.warn({ err: error }, 'could not forward the audit log')
  }
}
