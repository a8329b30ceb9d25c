import type { Database } from '../../storage/database.ts'
import { inspectPostgresTable } from './inspect.postgres.ts'
import { inspectSqliteTable } from './inspect.sqlite.ts'
import type { Table } from './table.ts'

/** Inspects a table or view, by its name with or without a schema; `undefined` when it does not exist. */
export function inspectTable(database: Database, name: string): Promise<Table | undefined> {
  return database.engine === 'sqlite'
    ? inspectSqliteTable(database, name)
    : inspectPostgresTable(database, name)
}
