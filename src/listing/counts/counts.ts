import type { KeyValue } from '../../paging/cursor.ts'
import type { Database, SqliteDatabase } from '../../storage/database.ts'
import type { ListDeclaration, SortKey } from '../list.ts'
import type { ListReader } from '../standby-reader.ts'
import {
  orderTerms,
  countedOrder,
  countsName,
  type CountedOrder,
  type OrderColumns,
  tuple,
} from '../../storage/maintained-counts.ts'
import { planOf, readColumn } from '../plan.ts'
import type { SqliteConnection } from '../../storage/sqlite/connection.ts'
import { storedValue } from '../field-types.ts'
import { defaultOrder } from '../order.ts'
import type { Engine } from '../../storage/query-runner.ts'

/** The total and the row positions of one list, from the changes that its triggers record. */
export interface MaintainedCounts {
  total(): Promise<number>
  /** SQL of the total, where reading it within the statement of a page costs less than a statement of its own. */
  readonly totalSql?: string
  /** Finds the row at `offset`; `undefined` if the list is shorter. */
  locate(offset: number): Promise<RowLocation | undefined>
}

/**
 * A row, as the first one that is not before `key` and `skip` rows from there. Without a key it is counted from the first
 * row of all: rows may have been inserted before the first bucket.
 */
export interface RowLocation {
  /** The number of all rows at the same moment. */
  total: number
  key: readonly KeyValue[] | undefined
  skip: number
}

export function maintainedCounts(
  database: Database,
  reader: ListReader,
  list: ListDeclaration,
): MaintainedCounts {
  return database.engine === 'sqlite' ? sqliteCounts(list, database) : postgresCounts(list, reader)
}

/** Adds up the sizes of the buckets in one statement, which sees one moment. */
function postgresCounts(list: ListDeclaration, reader: ListReader): MaintainedCounts {
  const total = planOf(totalSql(list))
  const location = planOf(locationSql(list), [0])
  const { keys } = countedOrderOf(list)
  return {
    totalSql: total.sql,
    async total() {
      const [row] = await reader.read(total, [], { settings: undefined })
      return Number(row?.[0] ?? 0)
    },
    async locate(offset) {
      const [row] = await reader.read(location, [offset], { settings: undefined })
      if (!row) return undefined
      const [number, start, all] = row.slice(keys.length).map(Number) as [number, number, number]
      return { total: all, key: number === 1 ? undefined : row.slice(0, keys.length), skip: offset - start }
    },
  }
}

/** The last bucket that begins at `$1` or before: its keys, its number from 1, the rows before it, and the number of all rows. */
function locationSql(list: ListDeclaration): string {
  const order = countedOrderOf(list)
  const { keys, buckets, descending } = order
  return `with changed as (${changesByBucketSql(order)}),
      sized as (select ${keys.map((key) => `b.${key}`).join(', ')}, b.size + coalesce(c.size, 0) as size
        from ${buckets} b left join changed c on c.id = b.id),
      placed as (select ${keys.join(', ')}, row_number() over w as n, sum(size) over w - size as start
        from sized window w as (order by ${orderTerms(keys, descending)} rows unbounded preceding))
    select ${readKeys(list, 'postgres').join(', ')}, n, start::bigint, (select sum(size) from sized)::bigint
      from placed where start <= $1 order by ${orderTerms(keys, !descending)} limit 1`
}

interface Bucket {
  key: KeyValue[]
  /** The number of rows before it. */
  start: number
}

/** The buckets of one data version of the database. */
interface Buckets {
  version: number
  buckets: Bucket[]
  total: number
}

/** Caches the buckets until something is written to the database. */
function sqliteCounts(list: ListDeclaration, database: SqliteDatabase): MaintainedCounts {
  const { readConnection: connection } = database
  const order = countedOrderOf(list)
  const { buckets, keys, descending } = order
  const statements = {
    buckets: `select ${readKeys(list, 'sqlite').join(', ')}, size, id from ${buckets} order by ${orderTerms(keys, descending)}`,
    changes: changesByBucketSql(order),
  }
  const selectTotal = totalSql(list)
  let cached: Buckets | undefined
  let cachedTotal: Pick<Buckets, 'version' | 'total'> | undefined

  const readTotal = (): number => connection.get<{ total: number }>(selectTotal)?.total ?? 0

  function currentBuckets(): Buckets {
    const version = database.dataVersion()
    if (cached?.version === version) return cached
    const { buckets, total } = readBuckets(connection, statements, defaultOrder(list))
    // Before the first bucket is created, all rows are recorded changes.
    return (cached = { version, buckets, total: buckets.length > 0 ? total : readTotal() })
  }

  return {
    async total() {
      const version = database.dataVersion()
      if (cached?.version === version) return cached.total
      if (cachedTotal?.version !== version) cachedTotal = { version, total: readTotal() }
      return cachedTotal.total
    },
    async locate(offset) {
      const { buckets, total } = currentBuckets()
      const index = lastBucketUpTo(buckets, offset)
      const bucket = buckets[index]
      return bucket && { total, key: index === 0 ? undefined : bucket.key, skip: offset - bucket.start }
    },
  }
}

/** Reads within a transaction, so that no write of another process comes between the two statements. */
function readBuckets(
  connection: SqliteConnection,
  statements: { buckets: string; changes: string },
  order: readonly SortKey[],
): Omit<Buckets, 'version'> {
  connection.exec('begin')
  try {
    const changed = new Map(connection.arrays<[number, number]>(statements.changes))
    const buckets: Bucket[] = []
    let total = 0
    for (const row of connection.arrays(statements.buckets)) {
      const [size, id] = row.slice(-2) as [number, number]
      const key = order.map(({ field }, index) => storedValue({ ...field, mixed: true }, row[index]!))
      buckets.push({ key, start: total })
      total += size + (changed.get(id) ?? 0)
    }
    return { buckets, total }
  } finally {
    connection.exec('commit')
  }
}

/** The index of the last bucket that begins at `offset` or before; -1 without one. */
function lastBucketUpTo(buckets: readonly Bucket[], offset: number): number {
  let [low, high] = [0, buckets.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (buckets[middle]!.start <= offset) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** The default order of a list, with the names of its counts. */
export function countedOrderOf(list: ListDeclaration): CountedOrder {
  return countedOrder(orderColumns(list))
}

/** The name of a table that exists when the counts of the list are maintained. */
export function totalTableOf(list: ListDeclaration): string {
  return countsName(orderColumns(list), 'total')
}

function orderColumns(list: ListDeclaration): OrderColumns {
  const order = defaultOrder(list)
  return {
    table: list.table,
    columns: order.map(({ field }) => field.column),
    descending: order[0]!.descending,
  }
}

/** Why counts cannot be maintained for an order; `undefined` when they can. */
export function whyNotCountable(order: readonly SortKey[]): string | undefined {
  if (order.some(({ descending }) => descending !== order[0]!.descending))
    return '`keep` needs an order whose keys all have the same direction'
  const foreign = order.find(({ field }) => field.operators !== undefined)
  if (foreign)
    return `\`keep\` needs an order of types on the search path: add the schema ${foreign.field.operators} of the type of ${foreign.name} to it`
  if (order[0]?.of) return `\`keep\` needs an order by the list's own fields, and not by ${order[0].name}`
  const collated = order.find(({ field }) => field.collation !== undefined)
  if (collated) return `\`keep\` needs an order by the columns' collations, and ${collated.name} has another`
  const nullable = order.find(({ field }) => field.nullable)
  return nullable && `\`keep\` needs an order without nulls, and ${nullable.name} may be null`
}

/** The SQL that reads the keys of a bucket as values that can be bound. */
function readKeys(list: ListDeclaration, engine: Engine): string[] {
  return defaultOrder(list).map(({ field }, index) => readColumn({ ...field, column: `k${index}` }, engine))
}

/** The number of rows: the stored total and the changes that are not folded into it yet. */
export function totalSql(list: ListDeclaration): string {
  const { total, changes } = countedOrderOf(list)
  return `select size + coalesce((select sum(size) from ${changes}), 0) as total from ${total}`
}

/** The id of the bucket that a key belongs to; no row for a key before the first bucket. */
export function bucketOfSql({ buckets, keys, descending }: CountedOrder, key: string): string {
  const own = keys.map((name) => `b.${name}`)
  return `select b.id from ${buckets} b where ${tuple(own)} ${descending ? '>=' : '<='} ${key}
    order by ${orderTerms(own, !descending)} limit 1`
}

/** The id of the first bucket, which counts the rows before it, too. */
export function firstBucketSql({ buckets, keys, descending }: CountedOrder): string {
  return `select id from ${buckets} order by ${orderTerms(keys, descending)} limit 1`
}

/** The recorded changes of each bucket, as `id` and `size`. @param from a table or a CTE of changes. */
export function changesByBucketSql(order: CountedOrder, from = order.changes): string {
  const bucket = bucketOfSql(order, tuple(order.keys.map((key) => `c.${key}`)))
  return `select coalesce((${bucket}), (${firstBucketSql(order)})) as id, sum(c.size) as size from ${from} c group by 1`
}
