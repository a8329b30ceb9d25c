import { type RawBuilder, sql, type SqlBool } from 'kysely'
import { type EventFilter, statusDirections } from './filter.ts'
import { statusExpression } from './store.ts'
import type { Queryable } from '../storage/database.ts'

/** SQL for the conditions of a filter, on `events e`. */
export function conditionsOf(filter: EventFilter): RawBuilder<SqlBool>[] {
  const { status, direction, since, until, eventId, orderKey } = filter
  const conditions: RawBuilder<SqlBool>[] = []
  const only = direction ?? (status && statusDirections[status])
  if (only) conditions.push(sql`e.direction = ${only}`)
  conditions.push(...kindConditions(filter, 'e'))
  if (since !== undefined) conditions.push(sql`e.created_at >= ${since}`)
  if (until !== undefined) conditions.push(sql`e.created_at < ${until}`)
  if (eventId !== undefined) conditions.push(sql`e.event_id = ${eventId}`)
  if (orderKey !== undefined)
    conditions.push(sql`(select q.order_key from event_queue q where q.event = e.id) = ${orderKey}`)
  if (status) conditions.push(sql`${sql.raw(statusExpression)} = ${status}`)
  return conditions
}

/** SQL for the source and the type of a filter, on a table that has both. */
export function kindConditions(
  { type, source }: EventFilter,
  table: 'e' | 'event_queue',
): RawBuilder<SqlBool>[] {
  const conditions: RawBuilder<SqlBool>[] = []
  const column = sql.ref(`${table}.type`)
  if (source !== undefined) conditions.push(sql`${sql.ref(`${table}.source`)} = ${source}`)
  if (type?.endsWith('.*')) {
    const prefix = type.slice(0, -1)
    conditions.push(sql`substr(${column}, 1, ${sql.lit(Array.from(prefix).length)}) = ${prefix}`)
  } else if (type !== undefined) conditions.push(sql`${column} = ${type}`)
  return conditions
}

type Table = 'deliveries' | 'events'

/**
 * The id of the first row that was created at `time` or later, found by bisection over the primary key: ids and times both grow.
 * Rows of overlapping transactions can be a few places out of that order. Behind the last row if none is as late.
 * @param time milliseconds since 1970
 */
export async function idAtTime(db: Queryable, table: Table, time: number): Promise<number> {
  const { rows: found } = await idAtTimeSql(table, time).execute(db)
  return found[0]!.id
}

/** The statement of `idAtTime`. */
export function idAtTimeSql(table: Table, time: number): RawBuilder<{ id: number }> {
  const rows = sql.table(table)
  const middle = sql`(low + high) / 2`
  const at = sql`coalesce((select created_at from ${rows} where id >= ${middle} order by id limit 1), ${time})`
  return sql<{ id: number }>`
    with recursive search (low, high) as (
      select coalesce((select min(id) from ${rows}), 0), coalesce((select max(id) from ${rows}), 0) + 1
      union all
      select case when ${at} < ${time} then ${middle} + 1 else low end,
        case when ${at} < ${time} then high else ${middle} end from search where low < high
    )
    select low as id from search where low >= high limit 1`
}
