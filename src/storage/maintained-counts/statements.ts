import type { Engine } from '../query-runner.ts'
import { orderTerms, type CountedOrder } from './counted-order.ts'
import { dropPostgresTriggers, postgresTables, postgresTriggers } from './triggers.postgres.ts'
import { dropSqliteTriggers, sqliteTables, sqliteTriggers } from './triggers.sqlite.ts'

/** Rows of a new bucket. A bucket with twice as many is split. */
export const bucketSize = 1_000

/**
 * The statements that create the counts of an order and fill them, to be run in one transaction: three tables, and triggers
 * that record each change in the transaction that makes it. A change is an inserted row and never an update, so that writers
 * do not wait for each other.
 *
 * Migrations use this text. After a release, a change of the triggers needs a migration that creates them again.
 */
export function createCounts(order: CountedOrder, engine: Engine): string[] {
  const tables = engine === 'sqlite' ? sqliteTables(order) : postgresTables(order)
  return [...tables, ...createTriggers(order, engine), ...fillCounts(order)]
}

export function createTriggers(order: CountedOrder, engine: Engine): string[] {
  return engine === 'sqlite' ? sqliteTriggers(order) : postgresTriggers(order)
}

export function dropTriggers(order: CountedOrder, engine: Engine): string[] {
  return engine === 'sqlite' ? dropSqliteTriggers(order) : dropPostgresTriggers(order)
}

export function dropCounts(order: CountedOrder, engine: Engine): string[] {
  const tables = [order.total, order.buckets, order.changes]
  return [...dropTriggers(order, engine), ...tables.map((name) => `drop table if exists ${name}`)]
}

/** Counts all rows again. No other transaction may write meanwhile. */
export function fillCounts(order: CountedOrder): string[] {
  const { table, total, buckets, changes } = order
  return [
    `delete from ${changes}`,
    `delete from ${buckets}`,
    `delete from ${total}`,
    `insert into ${total} select 1, count(*) from ${table}`,
    insertBuckets(order),
  ]
}

/**
 * Inserts the buckets of the rows that meet `conditions`.
 * @param firstExists whether the bucket that begins with the first of these rows is there already.
 */
export function insertBuckets(
  { table, buckets, columns, keys, descending }: CountedOrder,
  conditions: readonly string[] = [],
  firstExists = false,
): string {
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  const numbered = `select ${columns.map((column, index) => `${column} as ${keys[index]}`).join(', ')},
    row_number() over (order by ${orderTerms(columns, descending)}) - 1 as n, count(*) over () as row_count from ${table}${where}`
  return `insert into ${buckets} (${keys.join(', ')}, size) select ${keys.join(', ')},
    case when row_count - n < ${bucketSize} then row_count - n else ${bucketSize} end
    from (${numbered}) as numbered where n % ${bucketSize} = 0${firstExists ? ' and n > 0' : ''}`
}
