import type { Database } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { terms, type KeptOrder } from './kept-order.ts'
import { postgresTables, postgresTriggers, dropPostgresTriggers } from './triggers.postgres.ts'
import { dropSqliteTriggers, sqliteTables, sqliteTriggers } from './triggers.sqlite.ts'
import { uniqueKeys, type UniqueKey } from './unique-keys.ts'

/** Rows of a new bucket; one of twice as many is split. */
export const bucketSize = 1_000

/**
 * How an order is kept: three tables, and triggers that note every change in the transaction that makes it. A change is an
 * inserted row and never an update: writers wait for nobody.
 */
export interface Definition {
  engine: Engine
  order: KeptOrder
  /** On SQLite: by which an insert can replace other rows. */
  unique: readonly UniqueKey[]
}

/** @param table of the list, with its schema if it has one. */
export function definitionOf(database: Database, order: KeptOrder, table: string): Definition {
  const unique = database.engine === 'sqlite' ? uniqueKeys(database.readConnection, table) : []
  return { engine: database.engine, order, unique }
}

/** The statements that begin the keeping of an order, to be run in one transaction, the first count included. */
export function beginKeeping(definition: Definition): string[] {
  const { engine, order } = definition
  const tables = engine === 'sqlite' ? sqliteTables(order) : postgresTables(order)
  return [...tables, ...createTriggers(definition), ...fill(order)]
}

export function createTriggers({ engine, order, unique }: Definition): string[] {
  return engine === 'sqlite' ? sqliteTriggers(order, unique) : postgresTriggers(order)
}

export function dropTriggers({ engine, order }: Pick<Definition, 'engine' | 'order'>): string[] {
  return engine === 'sqlite' ? dropSqliteTriggers(order) : dropPostgresTriggers(order)
}

export function endKeeping({ engine, order }: Pick<Definition, 'engine' | 'order'>): string[] {
  const tables = [order.total, order.buckets, order.changes]
  return [...dropTriggers({ engine, order }), ...tables.map((name) => `drop table if exists ${name}`)]
}

/** Counts anew. Nobody may write meanwhile. */
export function fill({ table, total, buckets, changes, columns, keys, descending }: KeptOrder): string[] {
  const by = terms(columns, descending)
  const numbered = `select ${columns.map((column, index) => `${column} as ${keys[index]}`).join(', ')},
    row_number() over (order by ${by}) - 1 as n, count(*) over () as rows_there from ${table}`
  return [
    `delete from ${changes}`,
    `delete from ${buckets}`,
    `delete from ${total}`,
    `insert into ${total} select 1, count(*) from ${table}`,
    `insert into ${buckets} (${keys.join(', ')}, size) select ${keys.join(', ')},
      case when rows_there - n < ${bucketSize} then rows_there - n else ${bucketSize} end
      from (${numbered}) as numbered where n % ${bucketSize} = 0`,
  ]
}
