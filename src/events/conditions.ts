import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { statusDirections, type EventFilter } from './filter.ts'
import { statusExpression } from './store.ts'

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
