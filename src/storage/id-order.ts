import { sql, type RawBuilder } from 'kysely'
import type { Queryable } from './database.ts'
import type { Engine } from './query-runner.ts'

/** Rows that one index has in the order of their ids: those with the same values in its first columns. */
export interface IdStream {
  table: 'deliveries' | 'events' | 'event_queue' | 'idempotency_keys'
  /** `undefined`: the primary key. */
  index?: string
  /** The values of the columns before the id. */
  first: Readonly<Record<string, RawBuilder<unknown>>>
  id: 'id' | 'event'
  /** The id as the index has it on PostgreSQL. Default: `id` */
  key?: string
  /** The columns behind the id in the index. */
  rest?: readonly string[]
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

const directionOf = ({ ascending = false }: Part): RawBuilder<unknown> => sql.raw(ascending ? 'asc' : 'desc')

function queryOf(engine: Engine, stream: IdStream, part: Part): RawBuilder<{ id: number }> {
  const { table, index, first, id, key = id, rest = [], where } = stream
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
  const ordered = [...columns, ...rest.map((column) => sql.raw(column))]
  const place = (number: number) => sql.join([...Object.values(first), sql`cast(${number} as bigint)`])
  return sql`select ${sql.ref(id)} as id from ${sql.table(table)}
    where ${condition} (${sql.join(columns)}) > (${place(after)}) and (${sql.join(columns)}) < (${place(before)})
    order by ${sql.join(ordered.map((column) => sql`${column} ${direction}`))} limit ${count}
    ${sql.raw(locked ? 'for update' : '')}`
}
