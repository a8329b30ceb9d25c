import type { Database } from '../../storage/database.ts'
import { quote, quoteTable } from '../../storage/sql-names.ts'
import type { ListDeclaration } from '../list.ts'
import type { Table } from './table.ts'

/**
 * Whether a table has rows whose key is null. SQLite accepts them in a primary key that is not declared `not null`
 * (https://sqlite.org/lang_createtable.html#the_primary_key); it finds them by the index of the key.
 */
export function hasNullKeys(
  database: Database,
  { table: name, fields, key }: ListDeclaration,
  { kind }: Table,
) {
  if (database.engine !== 'sqlite' || kind === 'view') return false
  const column = quote(fields[key]!.column)
  const row = database.readConnection.get(`select 1 from ${quoteTable(name)} where ${column} is null limit 1`)
  return row !== undefined
}
