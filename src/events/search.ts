import { type RawBuilder, sql, type SqlBool } from 'kysely'
import type { Database } from '../storage/database.ts'
import { poolRows } from '../storage/postgres/pool/connection-shares.ts'
import { conditionsOf, type EventFilter, idAtTimeSql, kindConditions, statusDirections } from './filter.ts'
import { columns, type EventRow, isRetried } from './store.ts'
import type { Engine } from '../storage/query-runner.ts'
import type { EventQueueStatus } from '../storage/tables.ts'

interface Search {
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

/** Rows that one statement examines: a few milliseconds, so that others have their turn. */
const chunk = 1_000
/** Statements of one page, and milliseconds. Then the page ends with fewer rows, and its cursor continues the search. */
const mostChunks = 50
const longestWalk = 40
/**
 * Numbers follow the time of storing, which for a spooled event is later than its own time. A search reads this many milliseconds
 * more on both sides of its time, so that it finds events that were spooled for up to that long.
 */
const longestSpooled = 6 * 3_600_000
/** With fewer pending events all of them are examined by an index. */
const fewPending = 5_000

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
  const within = { ...search, ...(await boundsOf(database, search)) }
  const found: Walked[] = []
  for (const candidates of candidatesOf(database.engine, search.filter))
    found.push(await walk(database, within, candidates))
  const nearer = (a: number, b: number): number => (descending ? Math.max(a, b) : Math.min(a, b))
  const open = found.flatMap(({ through }) => through ?? [])
  const through = open.length === 0 ? undefined : open.reduce(nearer)
  const rows = [...new Map(found.flatMap((one) => one.rows).map((row) => [row.id, row])).values()]
    .filter(({ id }) => through === undefined || nearer(id, through) === id)
    .toSorted((a, b) => (descending ? b.id - a.id : a.id - b.id))
  if (rows.length > limit) return { rows: rows.slice(0, limit), nextCursor: rows[limit - 1]!.id }
  return { rows, nextCursor: through ?? null }
}

interface Bounds {
  lowest: number
  highest: number
}

interface Walked {
  rows: EventRow[]
  /** The last number that was examined; `undefined` at the end. */
  through: number | undefined
}

/** Examines candidates in chunks until the page is full, the candidates end, or the page has used all its statements. */
async function walk(
  database: Database,
  { filter, cursor, descending, limit, lowest, highest }: Search & Bounds,
  { from, key, where, narrowed = [] }: Candidates,
): Promise<Walked> {
  const order = descending ? sql`desc` : sql`asc`
  const rows: EventRow[] = []
  let position = descending ? Math.min(cursor, highest + 1) : Math.max(cursor, lowest - 1)
  const until = performance.now() + longestWalk
  for (let chunks = 0; chunks < mostChunks && (chunks === 0 || performance.now() < until); chunks += 1) {
    const ahead = descending
      ? sql`${key} < ${position} and ${key} >= ${lowest}`
      : sql`${key} > ${position} and ${key} <= ${highest}`
    const [last] = await run<{ key: number }>(
      database,
      sql`select ${key} as key from ${from} where ${where} and ${ahead} order by ${key} ${order} limit 1 offset ${sql.lit(chunk - 1)}`,
    )
    const end = last?.key
    const range = (id: RawBuilder<unknown>): RawBuilder<SqlBool> =>
      descending
        ? sql`${id} < ${position} and ${id} >= ${end ?? lowest}`
        : sql`${id} > ${position} and ${id} <= ${end ?? highest}`
    const chosen = sql.join([where, range(key), ...narrowed], sql` and `)
    const among = sql<SqlBool>`e.id in (select ${key} from ${from} where ${chosen})`
    // With a range as well, SQLite would read all events of the range.
    const conditions = [from === wholeLog.from ? range(sql`e.id`) : among, ...conditionsOf(filter)]
    rows.push(...(await select(database, conditions, order, limit + 1 - rows.length)))
    if (rows.length > limit) return { rows, through: rows.at(-1)!.id }
    if (end === undefined) return { rows, through: undefined }
    position = end
  }
  return { rows, through: position }
}

/** All that are pending, when they are few: they may lie anywhere, most of them at the end of a long log. */
async function findPending(database: Database, search: Search): Promise<FoundPage | undefined> {
  const { filter, cursor, descending, limit, horizon } = search
  // SQLite would read one of the indexes that have all deliveries.
  const [due, inOrder] =
    database.engine === 'sqlite' ? ['indexed by event_queue_due', 'indexed by deliveries_in_order'] : ['', '']
  const ids = sql`select event from event_queue ${sql.raw(due)} where status = 'pending'
    union all select event from deliveries ${sql.raw(inOrder)} where status = 'pending'`
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

/** Numbers outside of which the time of the search certainly does not lie. */
export async function boundsOf(
  database: Database,
  { filter, horizon }: Pick<Search, 'filter' | 'horizon'>,
): Promise<Bounds> {
  const { since, until, eventId, orderKey } = filter
  const all = { lowest: 0, highest: horizon }
  if (eventId !== undefined || orderKey !== undefined) return all
  if (since !== undefined) all.lowest = (await numberAt(database, since - longestSpooled)) - 1
  if (until !== undefined) all.highest = Math.min(horizon, await numberAt(database, until + longestSpooled))
  return all
}

async function numberAt(database: Database, time: number): Promise<number> {
  const [found] = await run<{ id: number }>(database, idAtTimeSql('events', time))
  return found!.id
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

/** On PostgreSQL on the primary: the locks that the horizon is read from cannot be seen on a standby. */
export async function run<Row>(database: Database, query: RawBuilder<unknown>): Promise<Row[]> {
  if (database.engine === 'sqlite') return (await query.execute(database.slowReader)).rows as Row[]
  const { sql: text, parameters } = query.compile(database.slowReader)
  return database.lists(() => poolRows<Row>(database.pool, { text, values: [...parameters] }))
}

/** A source of event numbers in index order, for one kind of filter. */
interface Candidates {
  /** SQL: a table, its indexed column, and the condition of the index. */
  from: RawBuilder<unknown>
  key: RawBuilder<unknown>
  where: RawBuilder<SqlBool>
  /** Further conditions that its index decides. */
  narrowed?: RawBuilder<SqlBool>[]
}

/** All events. */
const wholeLog: Candidates = { from: sql`events e`, key: sql`e.id`, where: sql`true` }
const retryingReceived = (engine: Engine, narrowed: RawBuilder<SqlBool>[]): Candidates => ({
  from: byIndex(engine, 'event_queue', 'event_queue_retrying'),
  key: sql`event`,
  where: sql`status = 'pending' and failed_at is not null`,
  narrowed,
})
const retryingEmitted = (engine: Engine): Candidates => ({
  from: byIndex(engine, 'deliveries', 'deliveries_retrying_of_event'),
  key: sql`event`,
  where: sql.raw(isRetried('deliveries')),
})
const blocked: Candidates = { from: sql`event_queue`, key: sql`event`, where: sql`status = 'blocked'` }
const failedReceived = (engine: Engine, narrowed: RawBuilder<SqlBool>[]): Candidates => ({
  from: byIndex(engine, 'event_queue', 'event_queue_failed'),
  key: sql`event`,
  where: sql`status = 'failed'`,
  narrowed,
})
const failedEmitted: Candidates = { from: sql`deliveries`, key: sql`event`, where: sql`status = 'dead'` }

/** SQLite would take an index of more rows: that of all events of a source, or of all deliveries. */
function byIndex(engine: Engine, table: string, index: string): RawBuilder<unknown> {
  return engine === 'sqlite' ? sql`${sql.table(table)} indexed by ${sql.ref(index)}` : sql.table(table)
}

/** Few events have a time of their own. */
const withTime: Candidates = { from: sql`scheduled_events`, key: sql`event`, where: sql`true` }

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

/** What the filter's best index has; several, if a status has several. */
export function candidatesOf(engine: Engine, filter: EventFilter): Candidates[] {
  const { status, orderKey, eventId, source } = filter
  // Only received events have a source or an order key.
  const isReceived = orderKey !== undefined || source !== undefined
  const wanted = [filter.direction, status && statusDirections[status], isReceived ? 'received' : undefined]
  const [direction, ...others] = new Set(wanted.filter((one) => one !== undefined))
  if (others.length > 0) return []
  if (eventId !== undefined) return [withId(eventId)]
  if (orderKey !== undefined) return queueStatuses.map((one) => withOrderKey(orderKey, one))
  if (status === 'blocked') return [blocked]
  if (status === 'scheduled' || status === 'canceled') return [withTime]
  const narrowed = kindConditions(filter, 'event_queue')
  if (status !== 'failed' && status !== 'retrying') return [wholeLog]
  const [received, emitted] =
    status === 'failed'
      ? [failedReceived(engine, narrowed), failedEmitted]
      : [retryingReceived(engine, narrowed), retryingEmitted(engine)]
  return [...(direction === 'emitted' ? [] : [received]), ...(direction === 'received' ? [] : [emitted])]
}
