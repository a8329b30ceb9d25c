import type { KeyValue } from '../../paging/cursor-values.ts'
import type { SqliteDatabase } from '../../storage/database.ts'
import { orderTerms } from '../../storage/maintained-counts/counted-order.ts'
import type { SqliteConnection } from '../../storage/sqlite/connection.ts'
import { storedValue } from '../field-types.ts'
import type { ListDeclaration, SortKey } from '../list.ts'
import { defaultOrder } from '../order.ts'
import type { MaintainedCounts } from './counts.ts'
import { countedOrderOf, readKeys } from './list-order.ts'
import { changesByBucketSql, totalSql } from './sql.ts'

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
export function sqliteCounts(list: ListDeclaration, database: SqliteDatabase): MaintainedCounts {
  const { readConnection: connection } = database
  const statements = bucketStatements(list)
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

function bucketStatements(list: ListDeclaration): { buckets: string; changes: string } {
  const order = countedOrderOf(list)
  const { buckets, keys, descending } = order
  return {
    buckets: `select ${readKeys(list, 'sqlite').join(', ')}, size, id from ${buckets} order by ${orderTerms(keys, descending)}`,
    changes: changesByBucketSql(order),
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
