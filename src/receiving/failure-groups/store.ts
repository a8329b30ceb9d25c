import { sql, type Selectable, type SqlBool } from 'kysely'
import type { Queryable } from '../../storage/database.ts'
import type { FailureGroupsTable } from '../../storage/tables.ts'

export const groupStates = ['open', 'acknowledged', 'snoozed', 'resolved'] as const

/** `resolved`: no event of the group has failed or is retried. A snoozed group is open again at its time. */
export type GroupState = (typeof groupStates)[number]

/** Events that a count reads at most. */
export const mostCounted = 1_000

export interface GroupFilter {
  state?: GroupState | undefined
  handler?: string | undefined
  id?: string | undefined
}

/** A group with its state now, and the numbers of its events that have failed or are retried, up to `mostCounted`. */
export interface CountedGroup extends Omit<Selectable<FailureGroupsTable>, 'state'> {
  state: GroupState
  failed: number
  retrying: number
}

/** Returns groups, the newest failure first. @param before only groups behind this position */
export async function listGroups(
  reader: Queryable,
  { state: wanted, handler, id }: GroupFilter,
  now: number,
  { before, limit }: { before?: readonly [lastAt: number, id: string]; limit: number },
): Promise<CountedGroup[]> {
  const isActive = sql<SqlBool>`exists (select 1 from event_queue q where q.failure_group = failure_groups.id and q.status = 'failed')
    or exists (select 1 from event_queue q where q.failure_group = failure_groups.id and q.status = 'pending' and q.failed_at is not null)`
  const stateNow = sql<GroupState>`case when not (${isActive}) then 'resolved'
    when state = 'snoozed' and snoozed_until <= ${now} then 'open' else state end`
  let query = reader
    .selectFrom('failure_groups')
    .selectAll()
    .select([
      stateNow.as('state_now'),
      countOf(sql`q.status = 'failed'`).as('failed'),
      countOf(sql`q.status = 'pending' and q.failed_at is not null`).as('retrying'),
    ])
  if (id !== undefined) query = query.where('id', '=', id)
  if (handler !== undefined) query = query.where('handler', '=', handler)
  if (wanted !== undefined) query = query.where(stateNow, '=', wanted)
  if (before) {
    const [lastAt, lastId] = before
    query = query.where((eb) =>
      eb.or([eb('last_at', '<', lastAt), eb.and([eb('last_at', '=', lastAt), eb('id', '<', lastId)])]),
    )
  }
  const rows = await query.orderBy('last_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
  return rows.map(({ state_now: state, ...row }) => Object.assign(row, { state }))
}

function countOf(which: ReturnType<typeof sql>) {
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
