import { readChoice, readText, readTimeParameter } from '../paging/parameters.ts'
import { isPattern } from './type-pattern.ts'
import { type EventStatus, statusExpression } from './store.ts'
import { optionalText } from '../http/schemas/schemas.ts'
import { type RawBuilder, sql, type SqlBool } from 'kysely'
import type { Queryable } from '../storage/database.ts'

/** Selects events of the log. All given conditions must hold. */
export interface EventFilter {
  status?: EventStatus
  /** A type or a pattern. */
  type?: string
  source?: string
  direction?: 'received' | 'emitted'
  /** Received or emitted at this time or later, in milliseconds since 1970. */
  since?: number
  /** Received or emitted before this time. */
  until?: number
  /** The stable id of the webhook event. Events of several sources may have the same. */
  eventId?: string
  /** Received events that are handled one after the other. */
  orderKey?: string
}

/** All statuses, with the direction of the events that may have them. */
export const statusDirections: Readonly<Record<EventStatus, 'received' | 'emitted' | undefined>> = {
  pending: undefined,
  retrying: undefined,
  blocked: 'received',
  processed: 'received',
  unhandled: 'received',
  failed: undefined,
  delivered: 'emitted',
  scheduled: 'emitted',
  canceled: 'emitted',
  unsubscribed: 'emitted',
}
const statuses = Object.keys(statusDirections) as EventStatus[]
const directions = ['received', 'emitted'] as const

export const filterSchema = {
  status: optionalText(`One of ${statuses.join(', ')}`),
  type: optionalText('Of this type, or of a pattern such as `order.*` or `*.created`'),
  source: optionalText('Received from this source'),
  direction: optionalText('`received` or `emitted`'),
  since: optionalText('Of this time or later, ISO 8601'),
  until: optionalText('Before this time, ISO 8601'),
  eventId: optionalText('With this stable id'),
  orderKey: optionalText('Received with this order key'),
}

type FilterTexts = Partial<Record<keyof typeof filterSchema, string | undefined>>

/**
 * Reads the filters of a query string and ignores empty ones. Returns `undefined` without any filter.
 * @throws Problem `invalid-parameter` with the parameter's name
 */
export function readEventFilter(texts: FilterTexts): EventFilter | undefined {
  const filter: EventFilter = {}
  if (texts.status) filter.status = readChoice(texts.status, 'status', statuses)
  if (texts.direction) filter.direction = readChoice(texts.direction, 'direction', directions)
  if (texts.type) filter.type = readText(texts.type, 'type')
  if (texts.source) filter.source = readText(texts.source, 'source')
  if (filter.type === '*') delete filter.type
  if (texts.since) filter.since = readTimeParameter(texts.since, 'since')
  if (texts.until) filter.until = readTimeParameter(texts.until, 'until')
  if (texts.eventId) filter.eventId = readText(texts.eventId, 'eventId')
  if (texts.orderKey) filter.orderKey = readText(texts.orderKey, 'orderKey')
  return Object.keys(filter).length === 0 ? undefined : filter
}

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
  if (source !== undefined) conditions.push(sql`${sql.ref(`${table}.source`)} = ${source}`)
  if (type !== undefined) conditions.push(typeCondition(sql.ref(`${table}.type`), type))
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

/** SQL for `matchesPattern`. Only a text between two `*` is compared without regard to case, on SQLite. */
export function typeCondition(column: RawBuilder<unknown>, pattern: string): RawBuilder<SqlBool> {
  if (!isPattern(pattern)) return sql<SqlBool>`${column} = ${pattern}`
  const pieces = pattern.split('*')
  const [first, last] = [pieces[0]!, pieces.at(-1)!]
  // Unlike `like`, it is case-sensitive on both engines.
  const conditions = [sql`substr(${column}, 1, ${literalLength(first)}) = ${first}`]
  if (last !== '') {
    const whole = sql`length(${column})`
    conditions.push(
      sql`${whole} >= ${literalLength(first + last)}`,
      sql`substr(${column}, ${whole} - ${literalLength(last)} + 1) = ${last}`,
    )
  }
  if (pieces.length > 2) {
    const text = pieces.map((piece) => piece.replace(/[!%_]/g, '!$&')).join('%')
    conditions.push(sql`${column} like ${text} escape '!'`)
  }
  return sql<SqlBool>`(${sql.join(conditions, sql` and `)})`
}

/** In characters, as databases count. */
function literalLength(text: string): RawBuilder<unknown> {
  return sql.lit(Array.from(text).length)
}
