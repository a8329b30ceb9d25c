import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { sql, type RawBuilder, type SqlBool } from 'kysely'
import type { Database } from '../storage/database.ts'
import type { EventQueueStatus } from '../storage/tables.ts'
import { translateError } from '../storage/unavailable.ts'
import { statusDirections, type EventFilter } from './filter.ts'
import { columns, statusExpression, type EventRow } from './store.ts'

export interface Search {
  filter: EventFilter
  /** The page starts behind this number. */
  cursor: number
  descending: boolean
  limit: number
  /** The number up to which no further event can appear. Must be read before the search, see docs/adr/0004. */
  horizon: number
}

export interface FoundPage {
  rows: EventRow[]
  /** The cursor of the next page; null at the end of the log. */
  nextCursor: number | null
}

/** A source of event numbers in index order, for one kind of filter. */
interface Candidates {
  /** SQL: a table, its indexed column, and the condition of the index. */
  from: RawBuilder<unknown>
  key: RawBuilder<unknown>
  where: RawBuilder<SqlBool>
}

/** Rows that one statement examines: a few milliseconds on SQLite, whose reads block the event loop. */
const chunk = 1_000
/** Statements of one page, and milliseconds. Then the page ends with fewer rows, and its cursor continues the search. */
const mostChunks = 50
const longestWalk = 60
/**
 * Numbers follow the time of storing, which for a spooled event is later than its own time. A search, newest first, goes on for this
 * many milliseconds beyond the beginning of its time, so that it finds events that were spooled for up to that long.
 */
export const longestSpooled = 6 * 3_600_000
/** With fewer pending events all of them are examined by an index. */
const fewPending = 5_000

const wholeLog: Candidates = { from: sql`events e`, key: sql`e.id`, where: sql`true` }
const retrying: Candidates = {
  from: sql`event_queue`,
  key: sql`event`,
  where: sql`status = 'pending' and failed_at is not null`,
}
const blocked: Candidates = { from: sql`event_queue`, key: sql`event`, where: sql`status = 'blocked'` }
const failedReceived: Candidates = { from: sql`event_queue`, key: sql`event`, where: sql`status = 'failed'` }
const failedEmitted: Candidates = { from: sql`deliveries`, key: sql`event`, where: sql`status = 'dead'` }

const queueStatuses = ['pending', 'blocked', 'processed', 'failed'] as const

/** Each status of an order key is in the order of the numbers. */
function withOrderKey(orderKey: string, status: EventQueueStatus): Candidates {
  const where = sql<SqlBool>`order_key = ${orderKey} and status = ${sql.lit(status)}`
  return { from: sql`event_queue`, key: sql`event`, where }
}

/** The index of received events begins with the source, and there are few sources. Ids of emitted events are unique. */
function withId(eventId: string): Candidates {
  const from = sql`(
    with recursive sources(source) as (
      select min(source) from event_queue
      union all
      select (select min(q.source) from event_queue q where q.source > sources.source) from sources where source is not null)
    select q.event from sources join event_queue q on q.source = sources.source and q.event_id = ${eventId}
    union all select event from idempotency_keys where event_id = ${eventId}) as found`
  return { from, key: sql`event`, where: sql`true` }
}

/**
 * Searches the log in the order of its numbers. An id, an order key, and failed, retrying and blocked events are found by an index. For all other filters each page
 * examines a bounded part of the log; its cursor continues there, so no event is skipped.
 */
export async function searchEvents(database: Database, search: Search): Promise<FoundPage> {
  const { descending, limit } = search
  const { status, eventId, orderKey } = search.filter
  const pending =
    status === 'pending' &&
    eventId === undefined &&
    orderKey === undefined &&
    (await findPending(database, search))
  if (pending) return pending
  const found: Walked[] = []
  for (const candidates of candidatesOf(search.filter)) found.push(await walk(database, search, candidates))
  const nearer = (a: number, b: number): number => (descending ? Math.max(a, b) : Math.min(a, b))
  const open = found.flatMap(({ through }) => through ?? [])
  const through = open.length === 0 ? undefined : open.reduce(nearer)
  const rows = [...new Map(found.flatMap((one) => one.rows).map((row) => [row.id, row])).values()]
    .filter(({ id }) => through === undefined || nearer(id, through) === id)
    .toSorted((a, b) => (descending ? b.id - a.id : a.id - b.id))
  if (rows.length > limit) return { rows: rows.slice(0, limit), nextCursor: rows[limit - 1]!.id }
  return { rows, nextCursor: through ?? null }
}

function candidatesOf({ status, direction, orderKey, eventId }: EventFilter): Candidates[] {
  const only = orderKey === undefined ? status && statusDirections[status] : 'received'
  if (only && direction && only !== direction) return []
  if (eventId !== undefined) return [withId(eventId)]
  if (orderKey !== undefined) return queueStatuses.map((one) => withOrderKey(orderKey, one))
  if (status === 'blocked') return [blocked]
  if (status === 'retrying') return [retrying]
  if (status !== 'failed') return [wholeLog]
  return [
    ...(direction === 'emitted' ? [] : [failedReceived]),
    ...(direction === 'received' ? [] : [failedEmitted]),
  ]
}

interface Walked {
  rows: EventRow[]
  /** The last number that was examined; `undefined` at the end. */
  through: number | undefined
}

/** Examines candidates in chunks until the page is full, the candidates end, or the page has used all its statements. */
async function walk(database: Database, search: Search, { from, key, where }: Candidates): Promise<Walked> {
  const { descending, limit, horizon } = search
  const order = descending ? sql`desc` : sql`asc`
  const rows: EventRow[] = []
  let position = descending ? Math.min(search.cursor, horizon + 1) : search.cursor
  const until = performance.now() + longestWalk
  for (let chunks = 0; chunks < mostChunks && (chunks === 0 || performance.now() < until); chunks += 1) {
    const ahead = descending ? sql`${key} < ${position}` : sql`${key} > ${position} and ${key} <= ${horizon}`
    const [last] = await run<{ key: number }>(
      database,
      sql`select ${key} as key from ${from} where ${where} and ${ahead} order by ${key} ${order} limit 1 offset ${sql.lit(chunk - 1)}`,
    )
    const end = last?.key
    const range = (id: RawBuilder<unknown>): RawBuilder<SqlBool> =>
      descending
        ? sql`${id} < ${position} and ${id} >= ${end ?? 0}`
        : sql`${id} > ${position} and ${id} <= ${end ?? horizon}`
    const among = sql<SqlBool>`e.id in (select ${key} from ${from} where ${where} and ${range(key)})`
    const conditions = [range(sql`e.id`), ...conditionsOf(search.filter)]
    if (from !== wholeLog.from) conditions.push(among)
    rows.push(...(await select(database, conditions, order, limit + 1 - rows.length)))
    if (rows.length > limit) return { rows, through: rows.at(-1)!.id }
    if (end === undefined || (descending && (await isBefore(database, search.filter, position, end))))
      return { rows, through: undefined }
    position = end
    // Others have their turn between two statements of SQLite's.
    await turnOfTheLoop()
  }
  return { rows, through: position }
}

/** Whether all events of a part of the log, and therefore of what is below it, are older than the filter's time. */
async function isBefore(
  database: Database,
  { since }: EventFilter,
  below: number,
  downTo: number,
): Promise<boolean> {
  if (since === undefined) return false
  const [found] = await run<{ newest: number | null }>(
    database,
    sql`select max(created_at) as newest from events where id < ${below} and id >= ${downTo}`,
  )
  return (found?.newest ?? 0) < since - longestSpooled
}

/** All that are pending, when they are few: they may lie anywhere, most of them at the end of a long log. */
async function findPending(database: Database, search: Search): Promise<FoundPage | undefined> {
  const { filter, cursor, descending, limit, horizon } = search
  const ids = sql`select event from event_queue where status = 'pending' union all select event from deliveries where status = 'pending'`
  const few = await run(
    database,
    sql`select 1 as found from (${ids}) as pending limit 1 offset ${sql.lit(fewPending)}`,
  )
  if (few.length > 0) return undefined
  const range = descending
    ? sql<SqlBool>`e.id < ${cursor} and e.id <= ${horizon}`
    : sql<SqlBool>`e.id > ${cursor} and e.id <= ${horizon}`
  const conditions = [range, sql<SqlBool>`e.id in (${ids})`, ...conditionsOf(filter)]
  const rows = await select(database, conditions, descending ? sql`desc` : sql`asc`, limit + 1)
  const page = rows.slice(0, limit)
  return { rows: page, nextCursor: rows.length > limit ? page.at(-1)!.id : null }
}

function select(
  database: Database,
  conditions: readonly RawBuilder<SqlBool>[],
  order: RawBuilder<unknown>,
  limit: number,
): Promise<EventRow[]> {
  return run<EventRow>(
    database,
    sql`select ${sql.raw(columns)} from events e where ${sql.join(conditions, sql` and `)} order by e.id ${order} limit ${sql.lit(limit)}`,
  )
}

/** SQL for the conditions of a filter, on `events e`. */
export function conditionsOf(filter: EventFilter): RawBuilder<SqlBool>[] {
  const { status, type, source, direction, since, until, eventId, orderKey } = filter
  const conditions: RawBuilder<SqlBool>[] = []
  const only = direction ?? (status && statusDirections[status])
  if (only) conditions.push(sql`e.direction = ${only}`)
  if (source !== undefined) conditions.push(sql`e.source = ${source}`)
  if (type?.endsWith('.*')) {
    const prefix = type.slice(0, -1)
    conditions.push(sql`substr(e.type, 1, ${sql.lit(Array.from(prefix).length)}) = ${prefix}`)
  } else if (type !== undefined) conditions.push(sql`e.type = ${type}`)
  if (since !== undefined) conditions.push(sql`e.created_at >= ${since}`)
  if (until !== undefined) conditions.push(sql`e.created_at < ${until}`)
  if (eventId !== undefined) conditions.push(sql`e.event_id = ${eventId}`)
  if (orderKey !== undefined)
    conditions.push(sql`(select q.order_key from event_queue q where q.event = e.id) = ${orderKey}`)
  if (status) conditions.push(sql`${sql.raw(statusExpression)} = ${status}`)
  return conditions
}

/** On PostgreSQL on the primary: the locks that the horizon is read from cannot be seen on a standby. */
async function run<Row>(database: Database, query: RawBuilder<unknown>): Promise<Row[]> {
  const { sql: text, parameters } = query.compile(database.reader)
  if (database.engine === 'sqlite')
    return database.readConnection.all<Row & object>(text, parameters as number[])
  try {
    return await database.lists(async () => (await database.pool.query(text, [...parameters])).rows as Row[])
  } catch (error) {
    throw translateError(error)
  }
}
