import { type RawBuilder, type Selectable, sql, type SqlBool } from 'kysely'
import type { Queryable } from '../../storage/database.ts'
import type { FailureGroupsTable } from '../../storage/tables.ts'

/** Events that a count reads at most. */
export const mostCounted = 1_000

/** A group with the numbers of its events that have failed or are retried, up to `mostCounted`. */
export interface CountedGroup extends Selectable<FailureGroupsTable> {
  failed: number
  retrying: number
}

/**
 * Returns one group, or those with events that have failed or are retried, the newest failure first.
 * @param before only groups behind this position
 */
export async function listGroups(
  reader: Queryable,
  { handler, id }: { handler?: string; id?: string },
  { before, limit }: { before?: readonly [lastAt: number, id: string]; limit: number },
): Promise<CountedGroup[]> {
  const failed = sql`q.status = 'failed'`
  const retrying = sql`q.status = 'pending' and q.failed_at is not null`
  const has = (which: RawBuilder<unknown>) =>
    sql<SqlBool>`exists (select 1 from event_queue q where q.failure_group = failure_groups.id and ${which})`
  let query = reader
    .selectFrom('failure_groups')
    .selectAll()
    .select([countOf(failed).as('failed'), countOf(retrying).as('retrying')])
  if (id !== undefined) query = query.where('id', '=', id)
  else query = query.where((eb) => eb.or([has(failed), has(retrying)]))
  if (handler !== undefined) query = query.where('handler', '=', handler)
  if (before) {
    const [lastAt, lastId] = before
    query = query.where((eb) =>
      eb.or([eb('last_at', '<', lastAt), eb.and([eb('last_at', '=', lastAt), eb('id', '<', lastId)])]),
    )
  }
  return query.orderBy('last_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
}

function countOf(which: RawBuilder<unknown>) {
  return sql<number>`(select count(*) from (
    select 1 from event_queue q where q.failure_group = failure_groups.id and ${which} limit ${sql.lit(mostCounted)}
  ) counted)`
}

/** The hourly counts of groups since a time, by group, the oldest first. */
export async function readHours(
  reader: Queryable,
  ids: readonly string[],
  since: number,
): Promise<Map<string, { at: number; count: number }[]>> {
  const hours = new Map<string, { at: number; count: number }[]>()
  if (ids.length === 0) return hours
  const rows = await reader
    .selectFrom('receiving_activity')
    .select(['name', 'slot', 'count'])
    .where('kind', '=', 'failure')
    .where('name', 'in', [...ids])
    .where('slot', '>=', since)
    .orderBy('slot')
    .execute()
  for (const { name, slot, count } of rows) {
    const found = hours.get(name)
    if (found) found.push({ at: slot, count })
    else hours.set(name, [{ at: slot, count }])
  }
  return hours
}

/** The newest failed or retried event of a group with its whole last error; else the newest that had failed. */
export async function readSample(reader: Queryable, group: string) {
  return reader
    .selectFrom('event_queue as q')
    .innerJoin('handler_failures as f', 'f.event', 'q.event')
    .select(['q.event', 'f.error', 'f.at', 'f.duration_ms'])
    .where('q.failure_group', '=', group)
    .where('q.event', '=', (eb) =>
      eb
        .selectFrom('event_queue as newest')
        .innerJoin('handler_failures as any', 'any.event', 'newest.event')
        .select('newest.event')
        .where('newest.failure_group', '=', group)
        .orderBy('newest.event', 'desc')
        .limit(1),
    )
    .orderBy('f.number', 'desc')
    .limit(1)
    .executeTakeFirst()
}
