import { randomUUID } from 'node:crypto'
import { Problem } from '../../errors.ts'
import type { Database } from '../../storage/database.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { EmittedEvent } from '../config.ts'
import { describeError } from '../failures.ts'
import { Stopping, WaitedForTransaction } from '../interruptions.ts'
import type { Plan, PlanOf } from '../plan.ts'
import { rehearse, type RehearseParts } from '../rehearse.ts'
import type { ClaimedEvent } from '../store.ts'
import { findReceived } from './store.ts'

export interface DryRunParts extends RehearseParts {
  database: Database
  planOf: PlanOf
  /** Returns the address to which the events of a source are forwarded, if there is one. */
  targetOf: (source: string) => string | undefined
}

/** The result of processing an event now. */
export interface DryRunResult {
  /** `forwarded`: the event would be posted to `forwardTo`. It was not, so the response is unknown. */
  outcome: 'processed' | 'failed' | 'forwarded'
  /** The error that a handler threw, with its stack. */
  error: string | null
  /** The first hundred events that the handlers would emit. */
  emitted: EmittedEvent[]
  emittedTotal: number
  /** Origin and path of the address. */
  forwardTo: string | null
  durationMs: number
}

/** The most concurrent dry runs of a process: each holds a connection, or on SQLite the write lock, while its handler uses `tx`. */
const mostAtOnce = 4
const mostShown = 100
/** Milliseconds by which the lease exceeds the handlers' time limit, for emitting and rolling back. */
const leaseMargin = 10_000

/** Processes events in transactions that are rolled back. */
export class DryRuns {
  readonly #parts: DryRunParts
  #running = 0

  constructor(parts: DryRunParts) {
    this.#parts = parts
  }

  /**
   * Runs the handlers of an event that is not processed yet. A claim on the event prevents other runs meanwhile.
   * @throws Problem `not-found`; `conflict` if the event was emitted, is processed, or is being handled now;
   * `no-longer-kept`; `overloaded`, `stopping`. StorageUnavailable.
   */
  async one(event: number): Promise<DryRunResult> {
    if (this.#running >= mostAtOnce)
      throw new Problem('overloaded', { retryAfter: 1, detail: 'Too many dry runs are running.' })
    this.#running += 1
    try {
      return await this.#run(event)
    } finally {
      this.#running -= 1
    }
  }

  async #run(event: number): Promise<DryRunResult> {
    const found = await this.#claim(event)
    const { claimed, plan, forwardTo } = found
    if (forwardTo !== undefined)
      return result({ outcome: 'forwarded', forwardTo: withoutCredentials(forwardTo) })
    const startedAt = performance.now()
    const took = (): number => Math.round(performance.now() - startedAt)
    try {
      const emitted = await rehearse(claimed, plan, this.#parts)
      return result({
        outcome: 'processed',
        emitted: emitted.slice(0, mostShown),
        emittedTotal: emitted.length,
        durationMs: took(),
      })
    } catch (error) {
      throwIfNotItsOwn(error)
      return result({ outcome: 'failed', error: describeError(error), durationMs: took() })
    } finally {
      await this.#giveBack(claimed)
    }
  }

  async #claim(event: number): Promise<{ claimed: ClaimedEvent; plan: Plan; forwardTo?: string }> {
    const { database, clock, planOf, targetOf } = this.#parts
    // Workers' claims have another prefix. If this process dies, the lease ends the claim.
    const claim = `dry-run:${randomUUID()}`
    return database.transaction(async (tx) => {
      const now = clock.now()
      const found = await findReceived(database.engine, tx, event)
      const row = await tx
        .selectFrom('event_queue as q')
        .innerJoin('events as e', 'e.id', 'q.event')
        .select(['q.event', 'q.source', 'q.event_id as eventId', 'q.type', 'q.order_key as orderKey'])
        .select(['q.attempts', 'q.attempts_before as attemptsBefore'])
        .select(['e.payload', 'e.headers', 'e.created_at as receivedAt'])
        .where('q.event', '=', event)
        .executeTakeFirstOrThrow()
      const claimed: ClaimedEvent = { ...row, claim, attempts: row.attempts + 1 }
      const plan = planOf(row.source, row.type)
      const forwardTo = targetOf(row.source)
      if (forwardTo !== undefined) return { claimed, plan, forwardTo }
      if (found.claim !== null && (found.leasedUntil ?? 0) > now)
        throw new Problem('conflict', { detail: 'The event is being handled now.' })
      await tx
        .updateTable('event_queue')
        .set({ claim, leased_until: now + plan.timeout + leaseMargin })
        .where('event', '=', event)
        .execute()
      return { claimed, plan }
    })
  }

  async #giveBack({ event, claim }: ClaimedEvent): Promise<void> {
    const { database, log } = this.#parts
    try {
      await database.transaction((tx) =>
        tx
          .updateTable('event_queue')
          .set({ claim: null, leased_until: null })
          .where('event', '=', event)
          .where('claim', '=', claim)
          .execute(),
      )
      // The event may have become due meanwhile.
      database.signal('event_queue')
    } catch (error) {
      // The lease expires.
      log.warn({ err: error, event }, 'the claim of a dry run could not be released')
    }
  }
}

function result(told: Pick<DryRunResult, 'outcome'> & Partial<DryRunResult>): DryRunResult {
  return { error: null, emitted: [], emittedTotal: 0, forwardTo: null, durationMs: 0, ...told }
}

/** @throws errors that are not the handler's fault */
function throwIfNotItsOwn(error: unknown): void {
  if (error instanceof StorageUnavailable) throw error
  if (error instanceof Stopping) throw new Problem('stopping', { retryAfter: 1 })
  if (error instanceof WaitedForTransaction)
    throw new Problem('overloaded', { retryAfter: 1, detail: error.message })
}

/** Removes user, password and query, which may be secrets. */
function withoutCredentials(address: string): string {
  const { origin, pathname } = new URL(address)
  return origin + pathname
}
