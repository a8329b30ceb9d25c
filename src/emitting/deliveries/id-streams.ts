import { sql, type RawBuilder } from 'kysely'
import type { Engine } from '../../storage/query-runner.ts'
import type { Queryable } from '../../storage/database.ts'
import type { DeliveryStatus } from '../../storage/tables.ts'

export type OpenStatus = Exclude<DeliveryStatus, 'delivered'>

/** Deliveries that one index has in the order of their ids: of a subscriber, of an owner or of all, of a status or of any. */
export interface IdStream {
  readonly subscriberId?: string | undefined
  readonly owner?: string | undefined
  readonly status?: OpenStatus
}

/** The deliveries of one subscriber, of one status or of any. */
type SubscriberStream = IdStream & { readonly subscriberId: string }

interface Range {
  before: number
  from: number
  count: number
}

/** The highest ids of a few streams, descending: at most `count` that are below `before` and not below `from`. */
export async function idsBelow(
  db: Queryable,
  engine: Engine,
  streams: readonly IdStream[],
  range: Range,
): Promise<number[]> {
  const found = await Promise.all(streams.map((stream) => run(db, queries[engine](stream, range))))
  return found
    .flat()
    .toSorted((a, b) => b - a)
    .slice(0, range.count)
}

export async function highestId(
  db: Queryable,
  engine: Engine,
  stream: SubscriberStream,
): Promise<number | undefined> {
  const [id] = await idsBelow(db, engine, [stream], { before: Number.MAX_SAFE_INTEGER, from: 0, count: 1 })
  return id
}

/**
 * The next ids of a stream, ascending: at most `count` behind `after`, up to `upTo`.
 * @param range `locked`: locks the rows until the end of the transaction
 */
export async function idsAfter(
  db: Queryable,
  engine: Engine,
  stream: SubscriberStream,
  { after, upTo, count, locked = false }: { after: number; upTo: number; count: number; locked?: boolean },
): Promise<number[]> {
  const { subscriberId } = stream
  const { name, key = 'id', where } = indexOf(stream)!
  const condition = where === undefined ? sql`` : sql`${sql.raw(where)} and `
  const keys = sql.raw(`d.subscriber_id, d.${key}`)
  const query =
    engine === 'sqlite'
      ? sql<{ id: number }>`select id from deliveries indexed by ${sql.raw(name)}
          where ${condition} subscriber_id = ${subscriberId} and id > ${after} and id <= ${upTo} order by id limit ${count}`
      : sql<{ id: number }>`select d.id from deliveries d where ${condition}
          (${keys}) > (${subscriberId}, ${after}::bigint) and (${keys}) <= (${subscriberId}, ${upTo}::bigint)
          order by ${keys} limit ${count} ${sql.raw(locked ? 'for update' : '')}`
  return run(db, query)
}

const queries: Record<Engine, (stream: IdStream, range: Range) => RawBuilder<{ id: number }>> = {
  sqlite(stream, { before, from, count }) {
    const index = indexOf(stream)
    const conditions = [
      ...(index?.where === undefined ? [] : [sql.raw(index.where)]),
      ...(index?.columns ?? []).map((column) => sql`${sql.raw(column)} = ${valueOf(stream, column)}`),
      sql`id < ${before}`,
      sql`id >= ${from}`,
    ]
    return sql`select id from deliveries ${sql.raw(index ? `indexed by ${index.name}` : '')}
      where ${sql.join(conditions, sql` and `)} order by id desc limit ${count}`
  },

  /** Comparing rows and ordering by all columns of an index leaves the planner no other index to choose. */
  postgres(stream, { before, from, count }) {
    const { columns = [], key = 'id', where } = indexOf(stream) ?? {}
    const values = columns.map((column) => valueOf(stream, column))
    const keys = [...columns, key].map((column) => sql.raw(`d.${column}`))
    const top = sql.join([...values, sql`${before}::bigint`])
    const bottom = sql.join([...values, sql`${from}::bigint`])
    return sql`select d.id from deliveries d
      where ${where === undefined ? sql`` : sql`${sql.raw(where)} and `}
        (${sql.join(keys)}) < (${top}) and (${sql.join(keys)}) >= (${bottom})
      order by ${sql.join(keys.map((one) => sql`${one} desc`))} limit ${count}`
  },
}

type Column = 'subscriber_id' | 'owner' | 'status'

function valueOf({ subscriberId, owner, status }: IdStream, column: Column): RawBuilder<unknown> {
  if (column === 'status') return sql.lit(status)
  return column === 'owner' ? sql`${owner}` : sql`${subscriberId}`
}

interface Index {
  name: string
  /** The columns before the id. */
  columns: Column[]
  /** The id as the index has it on PostgreSQL. */
  key?: string
  /** The condition of a partial index: SQLite uses it only for a query with the same text. */
  where?: string
}

/** `undefined`: the primary key. */
function indexOf({ subscriberId, owner, status }: IdStream): Index | undefined {
  if (subscriberId !== undefined) return ofSubscriber(status)
  if (owner !== undefined)
    return status === undefined
      ? { name: 'deliveries_of_owner', columns: ['owner'], where: 'owner is not null' }
      : {
          name: 'deliveries_open_of_owner',
          columns: ['owner', 'status'],
          where: `owner is not null and status <> 'delivered'`,
        }
  return status && { name: 'deliveries_open', columns: ['status'], where: `status <> 'delivered'` }
}

function ofSubscriber(status: OpenStatus | undefined): Index {
  const columns: Column[] = ['subscriber_id']
  if (status === undefined) return { name: 'deliveries_of_subscriber', columns }
  if (status === 'pending')
    return { name: 'deliveries_in_order', columns, key: 'id + 0', where: `status = 'pending'` }
  return { name: 'deliveries_dead_of_subscriber', columns, where: `status = 'dead'` }
}

async function run(db: Queryable, query: RawBuilder<{ id: number }>): Promise<number[]> {
  return (await query.execute(db)).rows.map(({ id }) => id)
}
