import { sql, type Expression, type ExpressionBuilder, type SqlBool } from 'kysely'
import type { Clock } from '../clock.ts'
import { Problem } from '../errors.ts'
import { beginJob } from '../events/jobs/job.ts'
import type { JobStep } from '../events/jobs/worker.ts'
import type { Database, Queryable, Tx } from '../storage/database.ts'
import type { JobsTable, Tables } from '../storage/tables.ts'
import { reaches, type Reach } from './audience.ts'
import type { DeliveryFilter } from './delivery-filter.ts'

/** What a replay job works on: deliveries that were there when it began. */
interface ReplayFilter extends DeliveryFilter {
  /** The newest delivery that belongs to it. */
  upTo: number
}

/** Sends again what was sent or given up before: the same delivery, the same event id. */
export class Replay {
  readonly #database: Database
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /**
   * Makes one delivery due now. Its schedule begins again, unless it is still being retried: then only its wait ends.
   * One that is being attempted at this moment goes by how that ends.
   * @throws Problem `not-found`; `conflict` when its subscriber is disabled
   */
  async one(id: number, reach: Reach): Promise<void> {
    await this.#database.transaction(async (tx) => {
      const row = await tx
        .selectFrom('deliveries')
        .innerJoin('subscribers', 'subscribers.id', 'deliveries.subscriber_id')
        .select(['subscribers.status', 'subscribers.owner'])
        .where('deliveries.id', '=', id)
        .executeTakeFirst()
      if (!row || !reaches(reach, row.owner))
        throw new Problem('not-found', { detail: 'There is no such delivery.' })
      if (row.status === 'disabled')
        throw new Problem('conflict', {
          detail: 'The subscriber is disabled: set its status to active first.',
        })
      await tx
        .updateTable('deliveries')
        .set({ due_at: this.#clock.now() })
        .where('id', '=', id)
        .where('status', '=', 'pending')
        .execute()
      await reopen(tx, [id], this.#clock.now())
    })
    this.#database.signal('deliveries')
  }

  /** How many deliveries a bulk replay would send again. */
  async count(subscriberId: string, filter: DeliveryFilter): Promise<number> {
    return (await measure(this.#database.reader, subscriberId, filter)).total
  }

  /**
   * Begins a bulk replay, which a worker carries out in steps. Asked again for the same while that is running, it gives
   * the job that runs: nothing is sent twice because a call was repeated.
   * @param rate deliveries per second; `null` for no limit
   */
  async begin(subscriberId: string, filter: DeliveryFilter, rate: number | null): Promise<JobsTable> {
    const now = this.#clock.now()
    const job = await this.#database.transaction(async (tx) => {
      const running = await this.#running(tx, subscriberId, filter)
      if (running) return running
      const { total, upTo } = await measure(tx, subscriberId, filter)
      const kept: ReplayFilter = { ...filter, upTo }
      return beginJob(tx, { kind: 'replay', subscriberId, filter: kept, total, rate }, now)
    })
    this.#database.signal('jobs')
    return job
  }

  async #running(tx: Tx, subscriberId: string, filter: DeliveryFilter): Promise<JobsTable | undefined> {
    if (this.#database.engine === 'postgres')
      // Two that begin the same at the same time come one after the other.
      await tx
        .selectFrom('subscribers')
        .select('id')
        .where('id', '=', subscriberId)
        .forNoKeyUpdate()
        .execute()
    const jobs = await tx
      .selectFrom('jobs')
      .selectAll()
      .where('subscriber_id', '=', subscriberId)
      .where('status', '=', 'running')
      .execute()
    return jobs.find(({ filter: kept }) => isSame(JSON.parse(kept) as ReplayFilter, filter))
  }
}

function isSame(kept: ReplayFilter, asked: DeliveryFilter): boolean {
  return (
    (kept.status ?? 'dead') === (asked.status ?? 'dead') &&
    kept.eventType === asked.eventType &&
    kept.since === asked.since &&
    kept.until === asked.until
  )
}

async function measure(
  db: Queryable,
  subscriberId: string,
  filter: DeliveryFilter,
): Promise<{ total: number; upTo: number }> {
  const row = await db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.id', 'deliveries.event')
    .select((eb) => [
      eb.fn.countAll<number>().as('total'),
      eb.fn.max<number | null>('deliveries.id').as('upTo'),
    ])
    .where((eb) => replayable(eb, subscriberId, filter))
    .executeTakeFirstOrThrow()
  return { total: row.total, upTo: row.upTo ?? 0 }
}

/** Finished deliveries that the filter means; without a status the dead ones. */
function replayable(
  eb: ExpressionBuilder<Tables, 'deliveries' | 'events'>,
  subscriberId: string,
  filter: DeliveryFilter,
): Expression<SqlBool> {
  const conditions = [
    eb('deliveries.subscriber_id', '=', subscriberId),
    eb('deliveries.status', '=', filter.status ?? 'dead'),
    eb('deliveries.status', '!=', 'pending'),
  ]
  if (filter.eventType) conditions.push(eb('events.type', '=', filter.eventType))
  if (filter.since !== undefined) conditions.push(eb('deliveries.created_at', '>=', filter.since))
  if (filter.until !== undefined) conditions.push(eb('deliveries.created_at', '<', filter.until))
  return eb.and(conditions)
}

/** Makes finished deliveries due now, with their whole schedule before them. */
async function reopen(tx: Tx, ids: readonly number[], now: number): Promise<void> {
  if (ids.length === 0) return
  await tx
    .updateTable('deliveries')
    .set({
      status: 'pending',
      attempts_before: sql<number>`attempts`,
      due_at: now,
      finished_at: null,
    })
    .where('id', 'in', [...ids])
    .where('status', '!=', 'pending')
    .execute()
}

/** Makes the next deliveries of a bulk replay due. */
export async function replayStep(tx: Tx, job: JobsTable, limit: number, now: number): Promise<JobStep> {
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
  const ids = rows.map(({ id }) => id)
  await reopen(tx, ids, now)
  return { count: ids.length, last: ids.at(-1) }
}
