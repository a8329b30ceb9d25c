import { sql, type RawBuilder } from 'kysely'
import type { Engine } from '../../storage/query-runner.ts'
import type { Queryable } from '../../storage/database.ts'
import type { DeliveryStatus } from '../../storage/tables.ts'

export type OpenStatus = Exclude<DeliveryStatus, 'delivered'>

/** Deliveries that one index has in the order of their ids: of a subscriber or of all, of a status or of any. */
export interface IdStream {
  readonly subscriberId?: string
  readonly status?: OpenStatus
}

/** Asks for the highest ids of a stream below `before`. */
export interface StreamRequest {
  readonly stream: IdStream
  readonly before: number
}

/** Reads ids of streams, descending: of each at most `count` that are `from` or higher. In the order of the requests. */
export type ReadStreams = (
  requests: readonly StreamRequest[],
  from: number,
  count: number,
) => Promise<number[][]>

/** Reads streams of subscribers with one statement for each status, because an owner can have a thousand of them. */
export function streamReader(db: Queryable, engine: Engine): ReadStreams {
  return async (requests, from, count) => {
    const found: number[][] = requests.map(() => [])
    const byStatus = Map.groupBy(requests.keys(), (index) => requests[index]!.stream.status)
    for (const [status, indexes] of byStatus) {
      const ofSubscribers = indexes.filter((index) => requests[index]!.stream.subscriberId !== undefined)
      for (const index of indexes) {
        const { stream, before } = requests[index]!
        if (stream.subscriberId !== undefined) continue
        const rows = await run<{ id: number }>(db, ofAll(engine, status, { before, from, count }))
        found[index] = rows.map(({ id }) => id)
      }
      if (ofSubscribers.length === 0) continue
      const some = ofSubscribers.map((index) => requests[index]!)
      const ids = await readSubscribers[engine](db, { status, some, from, count })
      for (const [position, index] of ofSubscribers.entries()) found[index] = ids[position]!
    }
    return found
  }
}

interface Part {
  status: OpenStatus | undefined
  some: readonly StreamRequest[]
  from: number
  count: number
}

const readSubscribers: Record<Engine, (db: Queryable, part: Part) => Promise<number[][]>> = {
  /** A join cannot be limited for each row, a subquery can. */
  async sqlite(db, { status, some, from, count }) {
    const { name, where } = indexOf(status, true)!
    const conditions = [
      sql`subscriber_id = requests.value ->> 0`,
      sql`id < requests.value ->> 1`,
      sql`id >= ${from}`,
      ...(status === undefined ? [] : [sql`status = ${sql.lit(status)}`]),
      ...(where === undefined ? [] : [sql.raw(where)]),
    ]
    const ids = sql`select id from deliveries indexed by ${sql.raw(name)}
      where ${sql.join(conditions, sql` and `)} order by id desc limit ${count}`
    const list = JSON.stringify(some.map(({ stream, before }) => [stream.subscriberId, before]))
    const rows = await run<{ ids: string }>(
      db,
      sql`select (select json_group_array(id) from (${ids})) as ids from json_each(${list}) requests order by requests.key`,
    )
    return rows.map(({ ids: found }) => JSON.parse(found) as number[])
  },

  async postgres(db, { status, some, from, count }) {
    const one = postgresIds(status, { subscriber: sql`w.id`, before: sql`w.before`, from, count })
    const rows = await run<{ place: number; id: number }>(
      db,
      sql`select w.place, d.id from unnest(${some.map(({ stream }) => stream.subscriberId!)}::text[], ${some.map(({ before }) => before)}::bigint[])
        with ordinality w (id, before, place) cross join lateral (${one}) d`,
    )
    const found: number[][] = some.map(() => [])
    for (const { place, id } of rows) found[place - 1]!.push(id)
    for (const ids of found) ids.sort((a, b) => b - a)
    return found
  },
}

interface Range {
  before: number
  from: number
  count: number
}

function ofAll(
  engine: Engine,
  status: OpenStatus | undefined,
  { before, from, count }: Range,
): RawBuilder<{ id: number }> {
  if (engine === 'postgres') return postgresIds(status, { before: sql`${before}::bigint`, from, count })
  const index = indexOf(status, false)
  const conditions = [
    sql`id < ${before}`,
    sql`id >= ${from}`,
    ...(status === undefined ? [] : [sql`status = ${sql.lit(status)}`]),
    ...(index?.where === undefined ? [] : [sql.raw(index.where)]),
  ]
  return sql<{ id: number }>`select id from deliveries ${sql.raw(index ? `indexed by ${index.name}` : '')}
    where ${sql.join(conditions, sql` and `)} order by id desc limit ${count}`
}

/** The deliveries of one subscriber, of one status or of any. */
export type SubscriberStream = IdStream & { readonly subscriberId: string }

/** The highest id of a stream. */
export async function highestId(
  db: Queryable,
  engine: Engine,
  stream: SubscriberStream,
): Promise<number | undefined> {
  const [ids] = await streamReader(db, engine)([{ stream, before: Number.MAX_SAFE_INTEGER }], 0, 1)
  return ids![0]
}

/**
 * The next ids of a stream, ascending: at most `count` behind `after`, up to `upTo`.
 * @param range `locked`: locks the rows until the end of the transaction
 */
export async function idsAfter(
  db: Queryable,
  engine: Engine,
  { subscriberId, status }: SubscriberStream,
  { after, upTo, count, locked = false }: { after: number; upTo: number; count: number; locked?: boolean },
): Promise<number[]> {
  const { name, key = 'id', where } = indexOf(status, true)!
  const condition = where === undefined ? sql`` : sql`${sql.raw(where)} and `
  const keys = sql.raw(`d.subscriber_id, d.${key}`)
  const query =
    engine === 'sqlite'
      ? sql<{ id: number }>`select id from deliveries indexed by ${sql.raw(name)}
          where ${condition} subscriber_id = ${subscriberId} and id > ${after} and id <= ${upTo} order by id limit ${count}`
      : sql<{ id: number }>`select d.id from deliveries d where ${condition}
          (${keys}) > (${subscriberId}, ${after}::bigint) and (${keys}) <= (${subscriberId}, ${upTo}::bigint)
          order by ${keys} limit ${count} ${sql.raw(locked ? 'for update' : '')}`
  return (await run<{ id: number }>(db, query)).map(({ id }) => id)
}

/** Comparing rows and ordering by all columns of an index leaves the planner no other index to choose. */
function postgresIds(
  status: OpenStatus | undefined,
  range: { subscriber?: RawBuilder<unknown>; before: RawBuilder<unknown>; from: number; count: number },
): RawBuilder<{ id: number }> {
  const { subscriber, before, from, count } = range
  const { columns = [], key = 'id', where } = indexOf(status, subscriber !== undefined) ?? {}
  const values = columns.map((column) => (column === 'status' ? sql.lit(status) : subscriber!))
  const keys = [...columns, key].map((column) => sql.raw(`d.${column}`))
  const top = sql.join([...values, before])
  const bottom = sql.join([...values, sql`${from}::bigint`])
  return sql<{ id: number }>`select d.id from deliveries d
    where ${where === undefined ? sql`` : sql`${sql.raw(where)} and `}
      (${sql.join(keys)}) < (${top}) and (${sql.join(keys)}) >= (${bottom})
    order by ${sql.join(keys.map((one) => sql`${one} desc`))} limit ${count}`
}

interface Index {
  name: string
  /** The columns before the id. */
  columns: string[]
  /** The id as the index has it on PostgreSQL. */
  key?: string
  /** The condition of a partial index: SQLite uses it only for a query with the same text. */
  where?: string
}

/** `undefined`: the primary key. */
function indexOf(status: OpenStatus | undefined, ofSubscriber: boolean): Index | undefined {
  if (!ofSubscriber)
    return status && { name: 'deliveries_open', columns: ['status'], where: `status <> 'delivered'` }
  if (status === undefined) return { name: 'deliveries_of_subscriber', columns: ['subscriber_id'] }
  if (status === 'pending')
    return {
      name: 'deliveries_in_order',
      columns: ['subscriber_id'],
      key: 'id + 0',
      where: `status = 'pending'`,
    }
  return {
    name: 'deliveries_dead_of_subscriber',
    columns: ['subscriber_id'],
    where: `status = 'dead'`,
  }
}

async function run<Row>(db: Queryable, query: RawBuilder<unknown>): Promise<Row[]> {
  return (await query.execute(db)).rows as Row[]
}
