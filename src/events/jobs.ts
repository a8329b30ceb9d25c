import { WakeUps } from '../runtime/repeated-pass.ts'
import type { Worker } from '../runtime/worker.ts'
import type { Tx } from '../storage/database.ts'
import type { Row } from '../storage/tables.ts'
import type { ModuleParts } from '../http/service-module.ts'
import { Type, type Static } from 'typebox'
import { newId } from '../crypto/ids.ts'
import { closedObject, DateTime, nullable } from '../http/schemas/schemas.ts'
import { isoTime } from '../runtime/iso-time.ts'

/** The result of one step of a job. */
export interface JobStep {
  /** Rows that the step changed, at most its limit. */
  readonly count: number
  /** The number of the last row that the step examined; `undefined` if it examined none. */
  readonly last: number | undefined
  /** Whether no rows follow. */
  readonly done: boolean
  /** The number of all rows, if it was only an upper limit until now. */
  readonly total?: number
}

export interface JobWorkerParts extends Pick<ModuleParts, 'database' | 'clock' | 'log'> {
  name: string
  kind: Row<'jobs'>['kind']
  /** Processes the next rows behind `job.position`, at most `limit`. */
  step: (tx: Tx, job: Row<'jobs'>, limit: number, now: number) => Promise<JobStep>
  /** The worker to wake after a step. */
  signal?: 'deliveries' | 'event_queue'
  /** Rows of one step. Default 500. */
  perStep?: number
}

/** Rows of one step by default. A step is one transaction. */
const rowsPerStep = 500
const pollEvery = 2_000
/** Milliseconds to the next look at least: what is due now, another process works on. */
const leastWait = 100
/** Steps per second of a job with a rate, if that gives at least one row for each step. */
const stepsPerSecond = 4

/**
 * Performs jobs of one kind in steps. A step and its progress are committed together, so after a crash no row is processed
 * twice. Jobs take turns; a job with a rate waits between its steps.
 */
export class JobWorker implements Worker {
  readonly name: string
  readonly #parts: JobWorkerParts
  readonly #wakeUps: WakeUps
  #unlisten: (() => void) | undefined

  constructor(parts: JobWorkerParts) {
    this.name = parts.name
    this.#parts = parts
    this.#wakeUps = new WakeUps(parts.clock, () => this.#work())
  }

  start(): void {
    this.#unlisten = this.#parts.database.onSignal('jobs', () => this.#wakeUps.now())
    this.#wakeUps.start()
  }

  async stop(): Promise<void> {
    this.#unlisten?.()
    await this.#wakeUps.stop()
  }

  async oldestDue(): Promise<number | undefined> {
    const due = await this.#nextTurn()
    return due !== undefined && due <= this.#parts.clock.now() ? due : undefined
  }

  /** Performs one step of the job that has waited longest; returns false if none is due. Any process may do it at any time. */
  async step(): Promise<boolean> {
    const { database, signal } = this.#parts
    const count = await database.inBackground((tx) => this.#step(tx))
    if (count && signal) database.signal(signal)
    return count !== undefined
  }

  async #nextTurn(): Promise<number | undefined> {
    const row = await this.#parts.database.reader
      .selectFrom('jobs')
      .select((eb) => eb.fn.min<number | null>('due_at').as('due'))
      .where('status', '=', 'running')
      .where('kind', '=', this.#parts.kind)
      .executeTakeFirst()
    return row?.due ?? undefined
  }

  async #work(): Promise<void> {
    const { clock, log } = this.#parts
    try {
      // Usually there is no job: one read without a transaction.
      if ((await this.#nextTurn()) !== undefined) {
        while (!this.#wakeUps.stopped && (await this.step()));
        // Jobs with a rate, and those that another process works on.
        const due = await this.#nextTurn()
        if (due !== undefined) this.#wakeUps.in(Math.max(leastWait, due - clock.now()))
      }
    } catch (error) {
      // The next poll continues behind the last committed step.
      log.error({ err: error }, `a step of the ${this.name} failed`)
    }
    this.#wakeUps.in(pollEvery)
  }

  async #step(tx: Tx): Promise<number | undefined> {
    const { database, clock, kind, step, perStep = rowsPerStep } = this.#parts
    const now = clock.now()
    const query = tx
      .selectFrom('jobs')
      .selectAll()
      .where('status', '=', 'running')
      .where('kind', '=', kind)
      .where('due_at', '<=', now)
      .orderBy('due_at')
      .limit(1)
    const job = await (
      database.engine === 'postgres' ? query.forUpdate().skipLocked() : query
    ).executeTakeFirst()
    if (!job) return undefined
    const { rate } = job
    const size = rate === null ? perStep : Math.min(perStep, Math.max(1, Math.floor(rate / stepsPerSecond)))
    const { count, last, done, total = job.total } = await step(tx, job, size, now)
    await tx
      .updateTable('jobs')
      .set({
        done: job.done + count,
        total,
        position: last ?? job.position,
        status: done ? 'done' : 'running',
        due_at: rate === null ? now : now + Math.ceil((count / rate) * 1000),
        updated_at: now,
      })
      .where('id', '=', job.id)
      .execute()
    return count
  }
}

/** The kinds of jobs that callers start and see. */
export type ShownKind = Exclude<Row<'jobs'>['kind'], 'removal' | 'statistics'>
export type ShownJob = Row<'jobs'> & { kind: ShownKind }
export const shownKinds = ['replay', 'reprocess'] as const satisfies readonly ShownKind[]

/** A background job, which works on many rows in steps. */
export const JobView = closedObject({
  id: Type.String(),
  kind: Type.Enum(shownKinds, { description: 'Of deliveries; of failed received events' }),
  subscriberId: nullable(Type.String()),
  status: Type.Enum(['running', 'done', 'cancelled', 'failed']),
  total: Type.Integer(),
  done: Type.Integer(),
  rate: nullable(Type.Number(), 'Deliveries per second; null: no limit'),
  createdAt: DateTime,
  updatedAt: DateTime,
})

export const TotalView = closedObject({ total: Type.Integer() })

export function viewJob(row: ShownJob): Static<typeof JobView> {
  return {
    ...row,
    subscriberId: row.subscriber_id,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  }
}

interface NewJob<Kind extends Row<'jobs'>['kind']> {
  kind: Kind
  subscriberId?: string
  /** Selects the rows of the job; stored as JSON. */
  filter: object
  /** The number of rows. With 0 the job is done at once. */
  total: number
  /** Rows per second; null for no limit. */
  rate?: number | null
  /** The number behind which its rows begin. Default 0. */
  behind?: number
}

/** Inserts a job, which the `JobWorker` of its kind performs. */
export async function startJob<Kind extends Row<'jobs'>['kind']>(
  tx: Tx,
  { kind, subscriberId, filter, total, rate = null, behind = 0 }: NewJob<Kind>,
  now: number,
): Promise<Row<'jobs'> & { kind: Kind }> {
  const row: Row<'jobs'> & { kind: Kind } = {
    id: newId(now),
    kind,
    subscriber_id: subscriberId ?? null,
    filter: JSON.stringify(filter),
    status: total === 0 ? 'done' : 'running',
    total,
    done: 0,
    position: behind,
    rate,
    due_at: now,
    claim: null,
    created_at: now,
    updated_at: now,
  }
  await tx.insertInto('jobs').values(row).execute()
  return row
}
