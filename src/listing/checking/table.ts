import type { Database } from '../../storage/database.ts'
import { inspectPostgresTable } from './inspect.postgres.ts'
import { inspectSqliteTable } from './inspect.sqlite.ts'

export interface TableColumn {
  /** PostgreSQL's name of the type (of a domain, its base type); on SQLite the affinity of the column. */
  type: string
  nullable: boolean
  /** All values of an enum type. */
  values?: readonly string[] | undefined
  /** Whether the column compares different texts as equal. */
  loose?: boolean
  /** On PostgreSQL: the quoted schema of the type's operators, if it is not on the search path. */
  operators?: string | undefined
  /** On SQLite: how it compares texts. */
  collation?: 'binary' | 'nocase' | 'rtrim'
  /** On SQLite: the expression of the default value. */
  byDefault?: string | undefined
}

/** An index that returns rows in its order: a B-tree over columns, not expressions, and all rows. */
export interface Index {
  name: string
  unique: boolean
  columns: readonly { column: string; descending: boolean }[]
}

export interface Table {
  /** Only the columns of a view are known. */
  kind: 'table' | 'view'
  columns: ReadonlyMap<string, TableColumn>
  indexes: readonly Index[]
  /** On PostgreSQL: a materialized view. It has indexes, and neither triggers nor columns that are known to be without nulls. */
  materialized?: boolean
  /** On PostgreSQL: whether the role of the connection may read no column. */
  forbidden?: boolean
  /** On SQLite: whether its rows have rowids, which an FTS5 table refers to. */
  rowids: boolean
  /** The statements of all indexes, those over expressions included. */
  definitions: readonly string[]
}

/** Inspects a table or view, by its name with or without a schema; `undefined` when it does not exist. */
export function inspectTable(database: Database, name: string): Promise<Table | undefined> {
  return database.engine === 'sqlite'
    ? inspectSqliteTable(database, name)
    : inspectPostgresTable(database, name)
}
