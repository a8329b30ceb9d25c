import { sql, type Expression, type ExpressionBuilder, type SqlBool } from 'kysely'
import type { JobStep } from '../../events/jobs/worker.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import type { JobsTable, Tables } from '../../storage/tables.ts'
import { isForItsOwner } from '../events/audience.ts'
import type { DeliveryFilter } from './delivery-filter.ts'

/** The deliveries of a replay job. It does not include those that are created later. */
export interface ReplayFilter extends DeliveryFilter {
  /** The highest id of a delivery that belongs to it. */
  upTo: number
}

export async function measure(
  db: Queryable,
  subscriberId: string,
  filter: DeliveryFilter,
  now: number,
): Promise<{ total: number; upTo: number }> {
  const row = await db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.id', 'deliveries.event')
    .select((eb) => [
      eb.fn.countAll<number>().as('total'),
      eb.fn.max<number | null>('deliveries.id').as('upTo'),
    ])
    .where((eb) => replayable(eb, subscriberId, filter, now))
    .executeTakeFirstOrThrow()
  return { total: row.total, upTo: row.upTo ?? 0 }
}

/** Deliveries that the filter selects; without a status, dead ones. Pending ones only if they wait for a later attempt. */
function replayable(
  eb: ExpressionBuilder<Tables, 'deliveries' | 'events'>,
  subscriberId: string,
  { status = 'dead', eventType, since, until }: DeliveryFilter,
  now: number,
): Expression<SqlBool> {
  const conditions = [
    eb('deliveries.subscriber_id', '=', subscriberId),
    eb('deliveries.status', '=', status),
    isForItsOwner,
  ]
  if (status === 'pending') conditions.push(eb('deliveries.due_at', '>', now))
  if (eventType) conditions.push(eb('events.type', '=', eventType))
  if (since !== undefined) conditions.push(eb('deliveries.created_at', '>=', since))
  if (until !== undefined) conditions.push(eb('deliveries.created_at', '<', until))
  return eb.and(conditions)
}

/** Makes finished deliveries due now and starts their schedules again. */
export async function reopen(tx: Tx, ids: readonly number[], now: number): Promise<void> {
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

/** Makes waiting deliveries due now. The number of attempts that they have left does not change. */
export async function endWait(tx: Tx, ids: readonly number[], now: number): Promise<void> {
  if (ids.length === 0) return
  await tx
    .updateTable('deliveries')
    .set({ due_at: now })
    .where('id', 'in', [...ids])
    .where('status', '=', 'pending')
    .where('due_at', '>', now)
    .execute()
}

/** Makes the next deliveries of a bulk replay due. */
export async function replayStep(tx: Tx, job: JobsTable, limit: number, now: number): Promise<JobStep> {
  const { upTo, ...filter } = JSON.parse(job.filter) as ReplayFilter
  const rows = await tx
    .selectFrom('deliveries')
    .innerJoin('events', 'events.id', 'deliveries.event')
    .select('deliveries.id')
    .where((eb) => replayable(eb, job.subscriber_id!, filter, now))
    .where('deliveries.id', '>', job.position)
    .where('deliveries.id', '<=', upTo)
    .orderBy('deliveries.id')
    .limit(limit)
    .execute()
  const ids = rows.map(({ id }) => id)
  await (filter.status === 'pending' ? endWait : reopen)(tx, ids, now)
  return { count: ids.length, last: ids.at(-1), done: ids.length < limit }
}
