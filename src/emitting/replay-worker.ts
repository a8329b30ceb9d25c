import type { Clock } from '../clock.ts'
import type { Worker } from '../http/room.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { JobsTable } from '../storage/tables.ts'
import type { Log } from '../telemetry/log.ts'
import { reopen, replayable, type ReplayFilter } from './replay.ts'

/** Deliveries of one step, which is one transaction. */
const perStep = 500
const pollEvery = 2_000
/** Steps per second of a job with a rate, as far as it has whole deliveries for them. */
const stepsPerSecond = 4

export interface ReplayWorkerParts {
  database: Database
  clock: Clock
  log: Log
}

/**
 * Carries out bulk replays step by step. A step and its progress are one transaction: after a crash the next step goes
 * on behind it, and nothing is replayed twice. Jobs take turns; one with a rate waits between its steps.
 */
export class ReplayWorker implements Worker {
  readonly name = 'replays'
  readonly #parts: ReplayWorkerParts
  #unlisten: (() => void) | undefined
  #cancelPoll: (() => void) | undefined
  #cancelTurn: (() => void) | undefined
  #working: Promise<void> | undefined
  #again = false
  #stopped = true

  constructor(parts: ReplayWorkerParts) {
    this.#parts = parts
  }

  start(): void {
    this.#stopped = false
    this.#unlisten = this.#parts.database.onSignal('jobs', () => this.#wake())
    this.#poll()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#unlisten?.()
    this.#cancelPoll?.()
    this.#cancelTurn?.()
    await this.#working
  }

  async oldestDue(): Promise<number | undefined> {
    const due = await this.#nextTurn()
    return due !== undefined && due <= this.#parts.clock.now() ? due : undefined
  }

  async #nextTurn(): Promise<number | undefined> {
    const row = await this.#parts.database.reader
      .selectFrom('jobs')
      .select((eb) => eb.fn.min<number | null>('due_at').as('due'))
      .where('status', '=', 'running')
      .executeTakeFirst()
    return row?.due ?? undefined
  }

  #poll(): void {
    this.#wake()
    this.#cancelPoll = this.#parts.clock.after(pollEvery, () => {
      if (!this.#stopped) this.#poll()
    })
  }

  #wake(): void {
    if (this.#stopped) return
    if (this.#working) {
      this.#again = true
      return
    }
    this.#working = this.#work().finally(() => {
      this.#working = undefined
      if (this.#again) this.#wake()
    })
  }

  async #work(): Promise<void> {
    this.#again = false
    const { database, log } = this.#parts
    try {
      while (!this.#stopped) {
        const moved = await database.transaction((tx) => this.#step(tx), { lane: 'work' })
        if (moved === undefined) break
        if (moved > 0) database.signal('deliveries')
      }
      await this.#waitForTurn()
    } catch (error) {
      // The next poll tries again, from where the last step ended.
      log.error({ err: error }, 'a bulk replay could not go on')
    }
  }

  /** Wakes when the next job with a rate has its turn. */
  async #waitForTurn(): Promise<void> {
    const due = await this.#nextTurn()
    if (due === undefined || this.#stopped) return
    this.#cancelTurn?.()
    this.#cancelTurn = this.#parts.clock.after(due - this.#parts.clock.now(), () => this.#wake())
  }

  /** One step of the job that has waited longest. Returns how many deliveries it made due; `undefined` without a job. */
  async #step(tx: Tx): Promise<number | undefined> {
    const { database, clock } = this.#parts
    const now = clock.now()
    const query = tx
      .selectFrom('jobs')
      .selectAll()
      .where('status', '=', 'running')
      .where('due_at', '<=', now)
      .orderBy('due_at')
      .limit(1)
    const job = await (
      database.engine === 'postgres' ? query.forUpdate().skipLocked() : query
    ).executeTakeFirst()
    if (!job) return undefined
    const size =
      job.rate === null ? perStep : Math.min(perStep, Math.max(1, Math.floor(job.rate / stepsPerSecond)))
    const ids = await this.#next(tx, job, size)
    const moved = await reopen(tx, ids, now)
    const last = ids.at(-1)
    await tx
      .updateTable('jobs')
      .set({
        done: job.done + ids.length,
        position: last ?? job.position,
        status: ids.length < size ? 'done' : 'running',
        due_at: job.rate === null ? now : now + Math.ceil((size / job.rate) * 1000),
        updated_at: now,
      })
      .where('id', '=', job.id)
      .execute()
    return moved
  }

  async #next(tx: Tx, job: JobsTable, limit: number): Promise<number[]> {
    const { upTo, ...filter } = JSON.parse(job.filter) as ReplayFilter
    const rows = await tx
      .selectFrom('deliveries')
      .innerJoin('events', 'events.id', 'deliveries.event')
      .select('deliveries.id')
      .where((eb) => replayable(eb, job.subscriber_id!, filter))
      .where('deliveries.id', '>', job.position)
      .where('deliveries.id', '<=', upTo)
      .orderBy('deliveries.id')
      .limit(limit)
      .execute()
    return rows.map(({ id }) => id)
  }
}
