import type { Database, SqliteDatabase } from '../../storage/database.ts'
import { inspectPostgresTable, postgresForeignKeys } from './inspect.postgres.ts'
import { quote, quoteTable } from '../../storage/sql-text.ts'

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
  /** On PostgreSQL: the type of a column of arrays, such as `text[]`, or `jsonb`. */
  array?: string | undefined
  /** The column's collation; on SQLite `binary`, `nocase` or `rtrim`. */
  collation?: string | undefined
  /** Whether the table computes its values. */
  computed?: boolean
  /** On SQLite: the expression of the default value. */
  byDefault?: string | undefined
}

/** An index that returns rows in its order: a B-tree over columns, not expressions, and all rows. */
export interface Index {
  name: string
  unique: boolean
  columns: readonly IndexedColumn[]
}

interface IndexedColumn {
  column: string
  descending: boolean
  /** Set if it differs from the column's. */
  collation?: string
  /** On PostgreSQL: whether its nulls are not above all values, as they are by default. */
  opposed?: boolean
}

export interface Table {
  /** Only the columns of a view are known. */
  kind: 'table' | 'view'
  columns: ReadonlyMap<string, TableColumn>
  indexes: readonly Index[]
  /** On PostgreSQL: a materialized view. It has indexes, and neither triggers nor columns that are known to be without nulls. */
  materialized?: boolean
  /** On PostgreSQL: a partitioned table, on which no index can be created concurrently. */
  partitioned?: boolean
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

/** The foreign keys from one table to another, each as pairs of a column and the column that it refers to. */
export async function foreignKeys(
  database: Database,
  table: string,
  to: string,
): Promise<[string, string][][]> {
  if (database.engine === 'postgres') return postgresForeignKeys(database, table, to)
  const rows = database.readConnection.all<{ id: number; own: string; other: string }>(
    `select f.id, f."from" as own, coalesce(f."to", (select name from pragma_table_info(f."table") where pk = f.seq + 1)) as other
    from pragma_foreign_key_list(?) f where f."table" = ? collate nocase`,
    [table, to],
  )
  const ids = [...new Set(rows.map(({ id }) => id))]
  return ids.map((one) => rows.filter(({ id }) => id === one).map(({ own, other }) => [own, other]))
}

interface ColumnRow {
  name: string
  type: string
  notnull: number
  dflt_value: string | null
  pk: number
  hidden: number
}
interface IndexRow {
  name: string
  unique: number
  partial: number
}
interface IndexColumn {
  cid: number
  name: string | null
  desc: number
  coll: string
  key: number
}

type Connection = SqliteDatabase['readConnection']

async function inspectSqliteTable(
  { readConnection: connection }: SqliteDatabase,
  name: string,
): Promise<Table | undefined> {
  const found = connection.get<{ type: string; name: string; sql: string }>(
    `select type, name, sql from sqlite_schema where name = ? collate nocase and type in ('table', 'view')`,
    [name],
  )
  if (!found) return undefined
  const columns = connection.all<ColumnRow>(
    'select name, type, "notnull", dflt_value, pk, hidden from pragma_table_xinfo(?)',
    [name],
  )
  const collations = collationsOf(connection, name, columns)
  const described = columns.map((column, index): [string, TableColumn] => [
    column.name,
    describeColumn(column, collations[index]!),
  ])
  return {
    kind: found.type === 'view' ? 'view' : 'table',
    columns: new Map(described),
    indexes: indexesOf(connection, name, columns, new Map(described)),
    rowids: found.type === 'table' && !withoutRowid(connection, found.name),
    definitions: connection
      .all<{ sql: string }>(
        `select sql from sqlite_schema where tbl_name = ? collate nocase and type = 'index' and sql is not null`,
        [name],
      )
      .map(({ sql }) => sql),
  }
}

/** SQLite's collations (https://sqlite.org/datatype3.html, section 7). */
export const sqliteCollations = ['binary', 'nocase', 'rtrim'] as const

/**
 * The collation of each column. No statement of SQLite names it, so it is seen by what the column compares as equal: a compound
 * select has the collations of its first part, which here has no rows.
 */
function collationsOf(connection: Connection, table: string, columns: readonly ColumnRow[]): string[] {
  const probes = columns.map(
    ({ name }) =>
      `(select (x = 'A') + 2 * (x = 'a ') from (select ${quote(name)} as x from ${quoteTable(table)} where 0 union all select 'a'))`,
  )
  const [found = []] = connection.arrays<number[]>(`select ${probes.join(', ')}`)
  return found.map((equal) => sqliteCollations[equal]!)
}

function describeColumn(
  { type, notnull, pk, dflt_value, hidden }: ColumnRow,
  collation: string,
): TableColumn {
  const affinity = affinityOf(type)
  return {
    type: affinity,
    collation,
    nullable: notnull === 0 && pk === 0,
    byDefault: dflt_value ?? undefined,
    // 1 is a hidden column of a virtual table.
    computed: hidden > 1,
    // A column without an affinity distinguishes the text 5 from the number 5.
    loose: collation !== 'binary' || affinity === 'blob',
  }
}

function indexesOf(
  connection: Connection,
  table: string,
  columns: readonly ColumnRow[],
  described: Table['columns'],
): Index[] {
  const keys = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
  // An `integer primary key` is the rowid itself. It needs no index, and every index ends with it.
  const rowid = keys.length === 1 && /^integer$/i.test(keys[0]!.type) ? keys[0]!.name : undefined
  const listed = connection.all<IndexRow>('select name, "unique", partial from pragma_index_list(?)', [table])
  const others = listed
    .filter(({ partial }) => partial === 0)
    .flatMap((index) => describeIndex(connection, index, rowid, described))
  if (rowid === undefined) return others
  return [{ name: 'rowid', unique: true, columns: [{ column: rowid, descending: false }] }, ...others]
}

/** Returns nothing for an index over an expression. */
function describeIndex(
  connection: Connection,
  { name, unique }: IndexRow,
  rowid: string | undefined,
  described: Table['columns'],
): Index[] {
  const parts = connection.all<IndexColumn>(
    'select cid, name, "desc", coll, "key" from pragma_index_xinfo(?) order by seqno',
    [name],
  )
  // The cid is -2 for an expression and -1 for the rowid, which follows the declared columns.
  if (parts.some(({ cid, key }) => cid === -2 && key === 1)) return []
  const columns = parts.flatMap(({ cid, name, desc, coll }) => {
    const column = cid === -1 ? rowid : name
    if (column === undefined || column === null) return []
    const collation = coll.toLowerCase()
    const isOwn = cid === -1 || described.get(column)?.collation === collation
    return [{ column, descending: desc === 1, ...(!isOwn && { collation }) }]
  })
  const declared = parts.filter(({ key }) => key === 1).length
  return [{ name, unique: unique === 1, columns: unique === 1 ? columns.slice(0, declared) : columns }]
}

function withoutRowid(connection: Connection, name: string): boolean {
  return (
    connection.get<{ wr: number }>('select wr from pragma_table_list(?) where schema = ?', [name, 'main'])
      ?.wr === 1
  )
}

/** The affinity of a declared type (https://sqlite.org/datatype3.html, section 3.1). */
function affinityOf(type: string): string {
  if (/int/i.test(type)) return 'integer'
  if (/char|clob|text/i.test(type)) return 'text'
  if (type === '' || /blob/i.test(type)) return 'blob'
  return /real|floa|doub/i.test(type) ? 'real' : 'numeric'
}
