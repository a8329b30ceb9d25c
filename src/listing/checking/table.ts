import type { Database } from '../../storage/database.ts'
import { inspectPostgresTable } from './inspect.postgres.ts'
import { inspectSqliteTable } from './inspect.sqlite.ts'

export interface TableColumn {
  /** PostgreSQL's name of the type, or that of the type below a domain; on SQLite the column's affinity. */
  type: string
  nullable: boolean
  /** Of a column whose type is an enum: all there are. */
  values?: readonly string[] | undefined
  /** Whether values that it takes for equal may be written differently. */
  loose?: boolean
  /** On SQLite: the expression that a row gets when it names no value. */
  byDefault?: string | undefined
}

/** An index that can be read in its order: a B-tree over plain columns and all rows. */
export interface Index {
  name: string
  unique: boolean
  columns: readonly { column: string; descending: boolean }[]
}

export interface Table {
  /** What is known of a view are its columns. */
  kind: 'table' | 'view'
  columns: ReadonlyMap<string, TableColumn>
  indexes: readonly Index[]
  /** On SQLite: whether a column compares otherwise than by bytes. */
  folded: boolean
  /** On SQLite: whether its rows have the number by which an FTS5 table names them. */
  rowids: boolean
  /** The statements of all indexes, those over expressions included. */
  definitions: readonly string[]
}

/** A table or view by its name, perhaps with a schema in front; `undefined` when there is none. */
export function inspectTable(database: Database, name: string): Promise<Table | undefined> {
  return database.engine === 'sqlite'
    ? inspectSqliteTable(database, name)
    : inspectPostgresTable(database, name)
}
