import { sql, type RawBuilder } from 'kysely'
import type { Engine } from '../../storage/query-runner.ts'
import type { Queryable } from '../../storage/database.ts'
import type { DeliveryStatus } from '../../storage/tables.ts'

export type OpenStatus = Exclude<DeliveryStatus, 'delivered'>

/** Rows that one index has in the order of their ids: those with the same values in its first columns. */
interface IdStream {
  table: 'deliveries' | 'events' | 'idempotency_keys'
  /** `undefined`: the primary key. */
  index?: string
  /** The values of the columns before the id. */
  first: Readonly<Record<string, RawBuilder<unknown>>>
  id: 'id' | 'event'
  /** The id as the index has it on PostgreSQL. Default: `id` */
  key?: string
  /** The condition of a partial index: SQLite uses it only for a query with the same text. */
  where?: string
}

/** Ids between these two, both excluded. */
export interface IdRange {
  after: number
  before: number
}

interface Part extends IdRange {
  count: number
  /** Whether to read the lowest ids. Default: the highest, descending. */
  ascending?: boolean
  /** Whether to lock the rows until the end of the transaction. Only for a single stream. */
  locked?: boolean
}

/** The next ids of a few streams in one order: at most `count` of the range. */
export async function idsIn(
  db: Queryable,
  engine: Engine,
  streams: readonly IdStream[],
  part: Part,
): Promise<number[]> {
  const queries = streams.map((stream) => queryOf(engine, stream, part))
  const all = queries.map((query) => sql`select id from (${query}) one`)
  const { rows } = await (
    queries.length === 1
      ? queries[0]!
      : sql<{ id: number }>`select id from (${sql.join(all, sql` union all `)}) merged
          order by id ${directionOf(part)} limit ${part.count}`
  ).execute(db)
  return rows.map(({ id }) => id)
}

/** The highest id of a subscriber's deliveries. */
export async function highestId(
  db: Queryable,
  engine: Engine,
  subscriberId: string,
): Promise<number | undefined> {
  const all = { after: 0, before: Number.MAX_SAFE_INTEGER }
  const [id] = await idsIn(db, engine, [deliveryStream({ subscriberId })], { ...all, count: 1 })
  return id
}

const directionOf = ({ ascending = false }: Part): RawBuilder<unknown> => sql.raw(ascending ? 'asc' : 'desc')

function queryOf(engine: Engine, stream: IdStream, part: Part): RawBuilder<{ id: number }> {
  const { table, index, first, id, key = id, where } = stream
  const { after, before, count, locked = false } = part
  const condition = where === undefined ? sql`` : sql`${sql.raw(where)} and`
  const direction = directionOf(part)
  if (engine === 'sqlite') {
    const equal = Object.entries(first).map(([column, value]) => sql`${sql.ref(column)} = ${value} and`)
    return sql`select ${sql.ref(id)} as id from ${sql.table(table)} ${sql.raw(index ? `indexed by ${index}` : '')}
      where ${condition} ${sql.join(equal, sql` `)} ${sql.ref(id)} > ${after} and ${sql.ref(id)} < ${before}
      order by ${sql.ref(id)} ${direction} limit ${count}`
  }
  // Comparing rows and ordering by all columns of an index leaves the planner no other index to choose.
  const columns = [...Object.keys(first), key].map((column) => sql.raw(column))
  const place = (number: number) => sql.join([...Object.values(first), sql`${number}::bigint`])
  return sql`select ${sql.ref(id)} as id from ${sql.table(table)}
    where ${condition} (${sql.join(columns)}) > (${place(after)}) and (${sql.join(columns)}) < (${place(before)})
    order by ${sql.join(columns.map((column) => sql`${column} ${direction}`))} limit ${count}
    ${sql.raw(locked ? 'for update' : '')}`
}

/** Deliveries of a subscriber, of an owner or of all, of a status or of any. */
export function deliveryStream({
  subscriberId,
  owner,
  status,
}: {
  subscriberId?: string | undefined
  owner?: string | undefined
  status?: OpenStatus | undefined
}): IdStream {
  const all = { table: 'deliveries', id: 'id', first: {} } as const
  const isOpen = `status <> 'delivered'`
  if (subscriberId !== undefined) {
    const own = { ...all, first: { subscriber_id: sql`${subscriberId}` } }
    if (status === undefined) return { ...own, index: 'deliveries_of_subscriber' }
    const where = `status = '${status}'`
    return status === 'dead'
      ? { ...own, index: 'deliveries_dead_of_subscriber', where }
      : { ...own, index: 'deliveries_in_order', key: 'id + 0', where }
  }
  const withStatus = status && { status: sql.lit(status) }
  if (owner === undefined)
    return withStatus ? { ...all, index: 'deliveries_open', first: withStatus, where: isOpen } : all
  const first = { owner: sql`${owner}`, ...withStatus }
  return withStatus
    ? { ...all, index: 'deliveries_open_of_owner', first, where: `owner is not null and ${isOpen}` }
    : { ...all, index: 'deliveries_of_owner', first, where: 'owner is not null' }
}

/** The emitted events of a type. */
export function eventsOfType(type: string): IdStream {
  const index = 'events_emitted_by_type'
  return { table: 'events', id: 'id', index, first: { type: sql`${type}` }, where: `direction = 'emitted'` }
}

/** The emitted events for an audience: an owner, or `everybody`. Without one, all. */
export function eventsFor(audience?: string): IdStream {
  const all = { table: 'idempotency_keys', id: 'event', first: {} } as const
  if (audience === undefined) return all
  const [index, where] = ['idempotency_keys_of_audience', 'audience is not null']
  return { ...all, index, first: { audience: sql`${audience}` }, where }
}
