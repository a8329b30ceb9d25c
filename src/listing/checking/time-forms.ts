import type { Database, SqliteDatabase } from '../../storage/database.ts'
import { quote, quoteTable } from '../../storage/sql-names.ts'
import type { Field, ListDeclaration } from '../list.ts'
import { sqliteForm, timeFormOf, type TimeForm } from '../stored-times.ts'
import type { Table } from './table.ts'

/** Rows whose values decide about the form. */
const sampleSize = 100

/**
 * On SQLite, adds to each filtered time field the form in which the table's rows write times. A client that filters by
 * `2026-01-31T08:30:00Z` then finds a row with `2026-01-31 08:30:00`. Of boolean fields it finds out whether rows have texts.
 */
export function withStoredForms(
  database: Database,
  { table: name, filters }: ListDeclaration,
  fields: Readonly<Record<string, Field>>,
  { columns }: Table,
): Record<string, Field> {
  if (database.engine !== 'sqlite') return { ...fields }
  const filtered = new Set(filters.map(({ field }) => field))
  const known = Object.entries(fields).map(([key, field]): [string, Field] => {
    const found = columns.get(field.column)
    if (field.type === 'boolean' && found) {
      const words = sampleOf(database, name, field.column).some((value) => typeof value === 'string')
      return [key, words ? { ...field, words } : field]
    }
    if (field.type !== 'timeText' || !filtered.has(key) || !found) return [key, field]
    const values = sampleOf(database, name, field.column)
    const stored = values.length > 0 ? timeFormOf(values) : formByDefault(found.byDefault)
    return [key, stored ? { ...field, stored } : field]
  })
  return Object.fromEntries(known)
}

function sampleOf({ readConnection }: SqliteDatabase, table: string, column: string): unknown[] {
  return readConnection
    .all<{ value: unknown }>(
      `select ${quote(column)} as value from ${quoteTable(table)} where ${quote(column)} is not null limit ${sampleSize}`,
    )
    .map(({ value }) => value)
}

/** The form of a table without rows, by the column's default. */
function formByDefault(expression: string | undefined): TimeForm | undefined {
  return expression !== undefined &&
    /^\(?\s*(?:current_timestamp|datetime\s*\(\s*'now'\s*\))\s*\)?$/i.test(expression)
    ? sqliteForm
    : undefined
}
