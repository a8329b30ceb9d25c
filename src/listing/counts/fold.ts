import { sql } from 'kysely'
import type { Tx } from '../../storage/database.ts'
import { orderTerms, tuple, type CountedOrder } from '../../storage/maintained-counts/counted-order.ts'
import { bucketSize, fillCounts, insertBuckets } from '../../storage/maintained-counts/statements.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { changesByBucketSql } from './sql.ts'

/** Moves the recorded changes into their buckets and the total. While there is no bucket, they stay. */
export async function fold(tx: Tx, order: CountedOrder, engine: Engine): Promise<void> {
  await runAll(tx, engine === 'postgres' ? [foldOnPostgres(order)] : foldOnSqlite(order))
}

/** One statement, which sees one moment: changes that are committed meanwhile are left for the next round. */
function foldOnPostgres(order: CountedOrder): string {
  const { total, buckets, changes } = order
  return `with gone as (delete from ${changes} where exists (select 1 from ${buckets}) returning *),
      changed as (${changesByBucketSql(order, 'gone')}),
      counted as (update ${total} set size = size + coalesce((select sum(size) from gone), 0))
    update ${buckets} b set size = b.size + c.size from changed c where c.id = b.id`
}

function foldOnSqlite(order: CountedOrder): string[] {
  const { total, buckets, changes } = order
  const bucketsExist = `exists (select 1 from ${buckets})`
  return [
    `update ${buckets} set size = ${buckets}.size + c.size from (${changesByBucketSql(order)}) as c where c.id = ${buckets}.id`,
    `update ${total} set size = size + coalesce((select sum(size) from ${changes}), 0) where ${bucketsExist}`,
    `delete from ${changes} where ${bucketsExist}`,
  ]
}

/**
 * Splits each bucket of twice its size or more, and makes the first buckets of a table. Changes must be folded, and no other
 * transaction may write.
 */
export async function splitLargeBuckets(tx: Tx, order: CountedOrder): Promise<void> {
  const { buckets } = order
  const { rows: some } = await sql.raw(`select 1 from ${buckets} limit 1`).execute(tx)
  if (some.length === 0) return runAll(tx, fillCounts(order))
  const { rows: large } = await sql
    .raw<{ id: number }>(`select id from ${buckets} where size >= ${2 * bucketSize} order by id`)
    .execute(tx)
  for (const { id } of large) await splitBucket(tx, order, id)
}

/**
 * Inserts the further buckets of the rows of one bucket, which keeps its first rows. Its key becomes that of its first row: the
 * first bucket also counts the rows before its key, and the further ones may begin there.
 */
async function splitBucket(tx: Tx, order: CountedOrder, id: number): Promise<void> {
  const { table, buckets, columns, keys, descending } = order
  const conditions = await rowsOfBucket(tx, order, id)
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  const first = `select ${columns.map((column, index) => `${column} as ${keys[index]}`).join(', ')} from ${table}${where}
    order by ${orderTerms(columns, descending)} limit 1`
  await runAll(tx, [
    `update ${buckets} set size = ${bucketSize}, ${keys.map((key) => `${key} = f.${key}`).join(', ')}
      from (${first}) as f where ${buckets}.id = ${id}`,
    insertBuckets(order, conditions, true),
  ])
}

/** The conditions on the rows that a bucket counts: the first one has no lower bound, the last one no upper bound. */
async function rowsOfBucket(tx: Tx, order: CountedOrder, id: number): Promise<string[]> {
  const { buckets, columns, keys, descending } = order
  const [before, after] = descending ? ['>', '<'] : ['<', '>']
  const keysOf = (where: string): string => `(select ${keys.join(', ')} from ${buckets} where ${where})`
  const own = keysOf(`id = ${id}`)
  const beyond = (side: string): string => `${tuple(keys)} ${side} ${own}`
  const next = keysOf(`${beyond(after)} order by ${orderTerms(keys, descending)} limit 1`)
  const exists = (side: string): string => `exists (select 1 from ${buckets} where ${beyond(side)})`
  const { rows } = await sql
    .raw<Record<'first' | 'last', number | boolean>>(
      `select not ${exists(before)} as first, not ${exists(after)} as last`,
    )
    .execute(tx)
  const { first, last } = rows[0]!
  return [
    ...(first ? [] : [`${tuple(columns)} ${after}= ${own}`]),
    ...(last ? [] : [`${tuple(columns)} ${before} ${next}`]),
  ]
}

export async function runAll(tx: Tx, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(tx)
}
