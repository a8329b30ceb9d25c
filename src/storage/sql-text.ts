import { type RawBuilder, sql, type SqlBool } from 'kysely'
import type { Engine } from './query-runner.ts'
import type { Database, Tx } from './database.ts'
import type { Row } from './tables.ts'

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

/** The condition by which a statement of SQLite ends when its time is over (`readWithin`). */
export const inTime = 'postern_in_time()'

/** The longest name that PostgreSQL does not truncate, in bytes. */
export const longestName = 63

/** Whether the database can store a text unchanged: PostgreSQL refuses U+0000, and lone surrogates have no UTF-8 encoding. */
export function isStorableText(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed()
}

/** Removes U+0000, replaces lone surrogates, and cuts the text to `longest` UTF-16 code units. */
export function storableText(text: string, longest = Number.POSITIVE_INFINITY): string {
  return text.replaceAll('\0', '').slice(0, longest).toWellFormed()
}

/** Deletes the rows of a table that expired until a time. */
export async function deleteExpired(
  database: Database,
  table:
    | 'authorization_codes'
    | 'authorization_requests'
    | 'device_codes'
    | 'flows'
    | 'host_codes'
    | 'invitations'
    | 'used_assertions',
  until: number,
): Promise<void> {
  await database.inBackground((tx) =>
    sql`delete from ${sql.table(table)} where expires_at <= ${until}`.execute(tx),
  )
}

/** Uses an assertion up, until it expires. False if it was used before. On PostgreSQL a second caller waits for the first one's commit. */
export async function useAssertion(tx: Tx, row: Row<'used_assertions'>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('used_assertions')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return Number(numInsertedOrUpdatedRows) > 0
}
