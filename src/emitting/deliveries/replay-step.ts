import { sql, type RawBuilder, type SqlBool } from 'kysely'
import type { JobStep } from '../../events/jobs/worker.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { isOneOf } from '../../storage/sql-text.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { JobsTable } from '../../storage/tables.ts'
import { isForItsOwner } from '../events/audience.ts'
import type { DeliveryFilter } from './delivery-filter.ts'
import { bounds } from './delivery-sources.ts'
import { idsAfter } from './id-streams.ts'

/** Deliveries that one step examines at most: some milliseconds, in which others do not write on SQLite. */
const examinedPerStep = 1_000

/** The deliveries of a replay job. It does not include those that are created later. */
export interface ReplayFilter extends DeliveryFilter {
  /** The highest id of a delivery that belongs to it. */
  upTo: number
}

/** What a bulk replay would send. */
export interface Measured {
  /** The number of deliveries. */
  total: number
  /** The id behind which they begin, and the one before which they end. */
  behind: number
  before: number
}

/** Counts without a transaction, because it reads all deliveries of the subscriber that the time of the filter does not exclude. */
export async function measure(
  { readerAside: db }: Database,
  subscriberId: string,
  filter: DeliveryFilter,
  now: number,
): Promise<Measured> {
  const { low, high } = await bounds(db, 'deliveries', filter)
  const { total } = await db
    .selectFrom('deliveries')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .where('subscriber_id', '=', subscriberId)
    .where('id', '>=', low)
    .where('id', '<', high)
    .where(isReplayable(filter, now))
    .executeTakeFirstOrThrow()
  return { total, behind: Math.max(0, low - 1), before: high }
}

/**
 * SQL for whether the filter selects a delivery of its subscriber; without a status, dead ones. Pending ones only if they wait for a
 * later attempt.
 */
function isReplayable(
  { status = 'dead', eventType, since, until }: DeliveryFilter,
  now: number,
): RawBuilder<SqlBool> {
  // No join: a planner could begin with all events of the type.
  const type = sql`(select type from events where events.id = deliveries.event)`
  const conditions = [
    sql`deliveries.status = ${sql.lit(status)}`,
    eventType ? sql`${type} = ${eventType}` : sql`${type} is not null`,
    isForItsOwner,
  ]
  if (status === 'pending') conditions.push(sql`deliveries.due_at > ${now}`)
  if (since !== undefined) conditions.push(sql`deliveries.created_at >= ${since}`)
  if (until !== undefined) conditions.push(sql`deliveries.created_at < ${until}`)
  return sql<SqlBool>`${sql.join(conditions, sql` and `)}`
}

/** Makes finished deliveries due now and starts their schedules again. */
export async function reopen(tx: Tx, ids: readonly number[], now: number): Promise<void> {
  if (ids.length === 0) return
  await tx
    .updateTable('deliveries')
    .set({
      status: 'pending',
      attempts_before: sql<number>`attempts`,
      planned_at: null,
      due_at: now,
      finished_at: null,
    })
    .where('id', 'in', [...ids])
    .where('status', '!=', 'pending')
    .execute()
}

/**
 * Makes waiting deliveries due now. If this attempt fails, the next one is due when it was before, and the number of attempts that are left does
 * not change.
 */
export async function endWait(tx: Tx, ids: readonly number[], now: number): Promise<void> {
  if (ids.length === 0) return
  await tx
    .updateTable('deliveries')
    .set((eb) => ({ due_at: now, planned_at: eb.fn.coalesce('planned_at', 'due_at') }))
    .where('id', 'in', [...ids])
    .where('status', '=', 'pending')
    .where('due_at', '>', now)
    .execute()
}

/** Makes the next deliveries of a bulk replay due: at most `limit`, of a bounded number that it examines. */
export async function replayStep(
  engine: Engine,
  tx: Tx,
  job: JobsTable,
  { limit, now }: { limit: number; now: number },
): Promise<JobStep> {
  const { upTo, ...filter } = JSON.parse(job.filter) as ReplayFilter
  const { status = 'dead' } = filter
  const examined = await idsAfter(
    tx,
    engine,
    { subscriberId: job.subscriber_id!, ...(status !== 'delivered' && { status }) },
    { after: job.position, upTo, count: examinedPerStep },
  )
  if (examined.length === 0) return { count: 0, last: undefined, done: true }
  const rows = await tx
    .selectFrom('deliveries')
    .select('id')
    .where(isOneOf(engine, 'deliveries.id', examined))
    .where(isReplayable(filter, now))
    .orderBy('id')
    .limit(limit)
    .execute()
  const ids = rows.map(({ id }) => id)
  await (status === 'pending' ? endWait : reopen)(tx, ids, now)
  // Behind the last one, others that were examined may match.
  if (ids.length === limit) return { count: limit, last: ids.at(-1), done: false }
  return { count: ids.length, last: examined.at(-1), done: examined.length < examinedPerStep }
}
