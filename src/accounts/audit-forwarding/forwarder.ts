import { randomUUID } from 'node:crypto'
import type { Clock } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { AuditReader } from '../audit-reader.ts'
import type { AuditDestination } from './destination.ts'
import { ExportPosition } from './position.ts'

/** Entries of one batch. */
const batch = 100
/** Milliseconds between two looks for new entries. */
const interval = 1_000
/** Milliseconds for one batch. */
const timeLimit = 15_000
/** Milliseconds from a failure to the next attempt: the first, doubled up to the longest. */
const [firstPause, longestPause] = [1_000, 300_000]

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
 * Forwards the audit log, in order and at least once: the position moves when the destination has taken a batch, so what was sent
 * and not noted is sent again. A destination that takes nothing is tried again with growing pauses, and nothing is passed over
 * until the retention of the audit log removes it. Forwarding that is behind does not change readiness: the metric and `postern doctor` tell how far it is.
 */
export class AuditForwarder implements Worker {
  readonly name = 'audit-export'
  readonly #parts: AuditForwarderParts
  readonly #reader: AuditReader
  readonly #position: ExportPosition
  readonly #claim = randomUUID()
  readonly #sending = new AbortController()
  #stopped = true
  #failures = 0
  #again = 0
  #cancel: (() => void) | undefined
  #round: Promise<void> = Promise.resolve()

  constructor(parts: AuditForwarderParts) {
    const { database, clock, metrics, url } = parts
    this.#parts = parts
    this.#reader = new AuditReader(database)
    this.#position = new ExportPosition(database, url)
    metrics.gauge(
      'postern_audit_export_behind_seconds',
      'Age of the oldest entry of the audit log that AUDIT_EXPORT_URL has not taken',
      [],
      async (gauge) => {
        const oldest = await this.#position.oldestWaiting()
        gauge.set(oldest === undefined ? 0 : Math.max(0, clock.now() - oldest) / 1000)
      },
    )
  }

  start(): void {
    this.#stopped = false
    this.#schedule()
  }

  async stop(deadline: AbortSignal): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    const cut = (): void => this.#sending.abort()
    if (deadline.aborted) cut()
    else deadline.addEventListener('abort', cut, { once: true })
    await this.#round
    await this.#parts.destination.close()
    // Without an answer of the database the claim ends by its time.
    await this.#position.release(this.#claim).catch((error: unknown) => this.#warn(error))
  }

  #schedule(): void {
    if (this.#stopped) return
    this.#cancel = this.#parts.clock.after(interval, () => {
      this.#round = this.#forward()
        .catch((error: unknown) => this.#warn(error))
        .finally(() => this.#schedule())
    })
  }

  async #forward(): Promise<void> {
    const { clock } = this.#parts
    if (clock.now() < this.#again) return
    // Looked at before it is claimed: a log that stands still costs no write.
    if ((await this.#position.oldestWaiting()) === undefined) return
    let position = await this.#position.claim(this.#claim, clock.now())
    while (position !== undefined && !this.#stopped) {
      const rows = await this.#reader.page({ after: position }, batch)
      const last = rows.at(-1)
      if (!last) return
      try {
        await this.#send(rows)
      } catch (error) {
        return this.#failed(error)
      }
      this.#failures = 0
      position = last.seq
      if (!(await this.#position.moved(this.#claim, position, clock.now()))) return
    }
  }

  async #send(rows: Parameters<AuditDestination['send']>[0]): Promise<void> {
    const limit = AbortSignal.timeout(timeLimit)
    await this.#parts.destination.send(rows, AbortSignal.any([limit, this.#sending.signal]))
  }

  async #failed(error: unknown): Promise<void> {
    if (this.#stopped) return
    const { clock } = this.#parts
    const pause = Math.min(longestPause, firstPause * 2 ** this.#failures)
    this.#failures += 1
    this.#again = clock.now() + pause
    this.#warn(error)
    const why = error instanceof Error ? error.message : String(error)
    await this.#position.failed(this.#claim, why, clock.now(), this.#again)
  }

  #warn(error: unknown): void {
    this.#parts.log.warn({ err: error }, 'could not forward the audit log')
  }
}
