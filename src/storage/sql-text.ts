import { type RawBuilder, sql, type SqlBool } from 'kysely'
import type { Engine } from './query-runner.ts'

/**
 * SQL for whether a column has one of many values, as one parameter: a parameter for each makes a statement of thousands of
 * characters, which is written, parsed and planned anew for each number of values.
 */
export function isOneOf(
  engine: Engine,
  column: string,
  values: readonly number[] | readonly string[],
): RawBuilder<SqlBool> {
  const left = sql.ref(column)
  if (engine === 'sqlite') return sql`${left} in (select value from json_each(${JSON.stringify(values)}))`
  const type = sql.raw(typeof values[0] === 'string' ? 'text[]' : 'bigint[]')
  return sql`${left} = any(${[...values]}::${type})`
}

/** A name as a quoted SQL identifier, whatever characters it has. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A quoted table name, with its schema if any: `shop.orders` becomes `"shop"."orders"`. */
export function quoteTable(name: string): string {
  return name.split('.', 2).map(quote).join('.')
}

/** The longest name that PostgreSQL does not truncate, in bytes. */
export const longestName = 63
