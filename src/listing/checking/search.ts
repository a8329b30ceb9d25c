import type { Database, PostgresDatabase, SqliteDatabase } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { quote, quoteTable } from '../../storage/sql-names.ts'
import type { Filter, ListDeclaration } from '../list.ts'
import { indexName } from '../names.ts'
import type { MissingIndex } from './index-advice.ts'
import { missingConfigurations } from './inspect.postgres.ts'
import { inspectTable } from './inspect.ts'
import type { Table } from './table.ts'

/** Checks what the `search` filters of a list need: text search configurations, or FTS5 tables. */
export async function validateSearch(
  database: Database,
  list: ListDeclaration,
  table: Table,
): Promise<string[]> {
  const filters = searchFilters(list)
  if (filters.length === 0) return []
  return database.engine === 'postgres'
    ? validateConfigurations(database, filters)
    : validateSearchTables(database, list, filters, table)
}

async function validateSearchTables(
  database: SqliteDatabase,
  list: ListDeclaration,
  filters: readonly Filter[],
  { rowids }: Table,
): Promise<string[]> {
  if (!rowids) return [`${list.table} is a view or has no rowid, which a search in an FTS5 table needs`]
  const faults: string[] = []
  const searchTableOf = ({ index = `${list.table}_search` }: Filter): string => index
  const columnOf = ({ field }: Filter): string => list.fields[field]!.column
  for (const filter of filters) {
    const { field } = filter
    const [index, column] = [searchTableOf(filter), columnOf(filter)]
    const found = await inspectTable(database, index)
    const hasColumn = [...(found?.columns.keys() ?? [])].some(
      (name) => name.toLowerCase() === column.toLowerCase(),
    )
    if (hasColumn) continue
    const columns = new Set(filters.filter((other) => searchTableOf(other) === index).map(columnOf))
    faults.push(
      found
        ? `the FTS5 table ${index} has no column ${column} to search ${field} in`
        : `there is no FTS5 table ${index} to search ${field} in: create virtual table ${quote(index)} using fts5(${[...columns].map(quote).join(', ')}, content=${quote(list.table)}); and triggers that update it (https://sqlite.org/fts5.html#external_content_tables)`,
    )
  }
  return faults
}

async function validateConfigurations(
  database: PostgresDatabase,
  filters: readonly Filter[],
): Promise<string[]> {
  const missing = await missingConfigurations(
    database,
    filters.flatMap(({ configuration }) => configuration ?? []),
  )
  return missing.map((name) => `there is no text search configuration ${name}: \\dF in psql lists them`)
}

export function missingSearchIndexes(
  list: ListDeclaration,
  { definitions, kind }: Table,
  engine: Engine,
): MissingIndex[] {
  if (engine !== 'postgres' || kind === 'view') return []
  return searchFilters(list).flatMap(({ field, parameter, configuration = 'simple' }) => {
    const { column } = list.fields[field]!
    const exists = definitions.some(
      (text) => text.includes('to_tsvector') && text.includes(`'${configuration}'`) && text.includes(column),
    )
    const statement = `create index concurrently ${quote(indexName(list.table, `search_${column}`))} on ${quoteTable(list.table)} using gin (to_tsvector('${configuration}', ${quote(column)}));`
    return exists ? [] : [{ queries: [`${parameter}=…`], statement }]
  })
}

function searchFilters({ filters }: ListDeclaration): Filter[] {
  return filters.filter(({ kind }) => kind === 'search')
}
