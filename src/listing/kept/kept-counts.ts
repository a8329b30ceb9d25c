import { hash } from 'node:crypto'
import type { KeyValue } from '../../paging/cursor.ts'
import type { SqliteDatabase } from '../../storage/database.ts'
import type { ListDeclaration } from '../list.ts'
import type { Plan } from '../plan.ts'
import type { ListReader } from '../store.ts'
import { keptOrder, readKeys, terms, tuple, type KeptOrder } from './kept-order.ts'

/**
 * Where a page by number begins: at the first row that is not before `key`, and then so many rows further on. Without a key
 * from the beginning of the list: rows may have come in front of the first bucket.
 */
export interface Landing {
  total: number
  key: readonly KeyValue[] | undefined
  skip: number
}

/** Offsets below which skipping the rows costs no more than finding the bucket. */
export const shallow = 1_000

/** Totals and positions of one list, from what its triggers note. */
export interface KeptCounts {
  total(): Promise<number>
  /** The total as SQL, where it costs less within the statement of a page than in one of its own. */
  readonly totalSql?: string
  /** `undefined` when there is no row there. */
  land(offset: number): Promise<Landing | undefined>
}

const statement = (sql: string, slots: readonly number[] = []): Plan => ({
  sql,
  name: `kept_${hash('sha256', sql, 'base64url').slice(0, 22)}`,
  slots,
})

/** The number of rows of a list whose counts are kept. */
export function planTotal(list: ListDeclaration): Plan {
  const { total, changes } = keptOrder(list)
  return statement(`select size + coalesce((select sum(size) from ${changes}), 0) as total from ${total}`)
}

/** The bucket that a key belongs to; none when it lies in front of all of them. */
export function bucketOf({ buckets, keys, descending }: KeptOrder, key: string): string {
  const own = keys.map((name) => `b.${name}`)
  return `select b.id from ${buckets} b where ${tuple(own)} ${descending ? '>=' : '<='} ${key}
    order by ${terms(own, !descending)} limit 1`
}

/** What changed in each bucket. What lies in front of all buckets is in the first. */
export function movedSql(order: KeptOrder, from = order.changes): string {
  const { buckets, keys, descending } = order
  const place = bucketOf(order, tuple(keys.map((key) => `c.${key}`)))
  const first = `select id from ${buckets} order by ${terms(keys, descending)} limit 1`
  return `select coalesce((${place}), (${first})) as id, sum(c.size) as size from ${from} c group by 1`
}

/** PostgreSQL adds the sizes up in one statement, which sees one moment. */
export function postgresCounts(list: ListDeclaration, reader: ListReader): KeptCounts {
  const order = keptOrder(list)
  const { keys, buckets, descending } = order
  const by = terms(keys, descending)
  const total = planTotal(list)
  const land = statement(
    `with moved as (${movedSql(order)}),
      sized as (select ${keys.map((key) => `b.${key}`).join(', ')}, b.size + coalesce(m.size, 0) as size
        from ${buckets} b left join moved m on m.id = b.id),
      placed as (select ${keys.join(', ')}, row_number() over w as n, sum(size) over w - size as start
        from sized window w as (order by ${by} rows unbounded preceding))
    select ${readKeys(order, 'postgres').join(', ')}, n, start::bigint, (select sum(size) from sized)::bigint
      from placed where start <= $1 order by ${terms(keys, !descending)} limit 1`,
    [0],
  )
  return {
    totalSql: total.sql,
    async total() {
      const [row] = await reader.read(total, [])
      return Number(row?.[0] ?? 0)
    },
    async land(offset) {
      const [row] = await reader.read(land, [offset])
      if (!row) return undefined
      const [n, start, all] = row.slice(keys.length).map(Number) as [number, number, number]
      return { total: all, key: n === 1 ? undefined : row.slice(0, keys.length), skip: offset - start }
    },
  }
}

interface Sums {
  version: number
  keys: KeyValue[][]
  /** How many rows lie in front of each bucket. */
  starts: number[]
  total: number
}

/** On SQLite the sums are kept in memory for as long as nothing has been written. */
export function sqliteCounts(list: ListDeclaration, database: SqliteDatabase): KeptCounts {
  const { readConnection: connection } = database
  const order = keptOrder(list)
  const total = planTotal(list).sql
  const all = `select ${readKeys(order, 'sqlite').join(', ')}, size, id from ${order.buckets} order by ${terms(order.keys, order.descending)}`
  const moved = movedSql(order)
  let known: Sums | undefined
  let counted: Pick<Sums, 'version' | 'total'> | undefined

  function sums(): Sums {
    const now = database.dataVersion()
    if (known?.version === now) return known
    const made: Sums = { version: now, keys: [], starts: [], total: 0 }
    const [changed, rows] = atOneMoment(() => [
      new Map(connection.arrays<[number, number]>(moved)),
      connection.arrays(all),
    ])
    for (const row of rows) {
      const [size, id] = row.slice(-2) as [number, number]
      made.keys.push(row.slice(0, -2) as KeyValue[])
      made.starts.push(made.total)
      made.total += size + (changed.get(id) ?? 0)
    }
    // Before there is a bucket everything is a noted change.
    if (rows.length === 0) made.total = count()
    return (known = made)
  }

  function count(): number {
    return connection.get<{ total: number }>(total)?.total ?? 0
  }

  /** What other processes write in between is not seen. */
  function atOneMoment<T>(read: () => T): T {
    connection.exec('begin')
    try {
      return read()
    } finally {
      connection.exec('commit')
    }
  }

  return {
    async total() {
      const now = database.dataVersion()
      if (known?.version === now) return known.total
      if (counted?.version !== now) counted = { version: now, total: count() }
      return counted.total
    },
    async land(offset) {
      const { keys, starts, total } = sums()
      let [low, high] = [0, starts.length]
      while (low < high) {
        const middle = (low + high) >> 1
        if (starts[middle]! <= offset) low = middle + 1
        else high = middle
      }
      if (low === 0) return undefined
      return { total, key: low === 1 ? undefined : keys[low - 1]!, skip: offset - starts[low - 1]! }
    },
  }
}
