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
  /** As in Field. */
  asText?: string | undefined
  lowering?: string | undefined
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

export interface IndexedColumn {
  column: string
  descending: boolean
  /** Set if it differs from the column's. */
  collation?: string | undefined
  /** On PostgreSQL: whether its nulls are not above all values, as they are by default. */
  opposed?: boolean
}

export interface Table {
  /** With a schema if it was given one. */
  name: string
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
  const rows = database.readConnection.all<{ pairs: string }>(
    `select json_group_array(json_array(f."from",
      coalesce(f."to", (select name from pragma_table_info(f."table") where pk = f.seq + 1)))) as pairs
    from pragma_foreign_key_list(?) f where f."table" = ? collate nocase group by f.id`,
    [table, to],
  )
  return rows.map(({ pairs }) => JSON.parse(pairs) as [string, string][])
}

interface ColumnRow {
  name: string
  type: string
  notnull: number
  dflt_value: string | null
  pk: number
  hidden: number
}

type Connection = SqliteDatabase['readConnection']

async function inspectSqliteTable(
  { readConnection: connection }: SqliteDatabase,
  name: string,
): Promise<Table | undefined> {
  const found = connection.get<{ type: string; wr: number }>(
    `select s.type, l.wr from sqlite_schema s join pragma_table_list(s.name) l on l.schema = 'main'
    where s.name = ? collate nocase and s.type in ('table', 'view')`,
    [name],
  )
  if (!found) return undefined
  const columns = connection.all<ColumnRow>(
    'select name, type, "notnull", dflt_value, pk, hidden from pragma_table_xinfo(?)',
    [name],
  )
  const collations = collationsOf(connection, name, columns)
  const described = new Map(
    columns.map((column, index) => [column.name, describeColumn(column, collations[index]!)]),
  )
  return {
    name,
    kind: found.type === 'view' ? 'view' : 'table',
    columns: described,
    indexes: indexesOf(connection, name, columns, described),
    rowids: found.type === 'table' && found.wr === 0,
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

/** A column of an index, or the rowid, which follows the declared columns. */
interface IndexPart {
  index: string
  unique: number
  /** -1 for the rowid and -2 for an expression. */
  cid: number
  name: string | null
  desc: number
  collation: string
  key: number
}

function indexesOf(
  connection: Connection,
  table: string,
  columns: readonly ColumnRow[],
  described: Table['columns'],
): Index[] {
  const keys = columns.filter(({ pk }) => pk > 0)
  // An `integer primary key` is the rowid itself. It needs no index, and every index ends with it.
  const rowid = keys.length === 1 && /^integer$/i.test(keys[0]!.type) ? keys[0]!.name : null
  const all = connection.all<IndexPart>(
    `select l.name as "index", l."unique", x.cid, x.name, x."desc", lower(x.coll) as collation, x."key"
    from pragma_index_list(?) l join pragma_index_xinfo(l.name) x where l.partial = 0 order by l.seq, x.seqno`,
    [table],
  )
  const indexes = [...Map.groupBy(all, ({ index }) => index)].flatMap(([name, parts]): Index[] => {
    if (parts.some(({ cid, key }) => cid === -2 && key === 1)) return []
    const unique = parts[0]!.unique === 1
    const indexed = parts.flatMap(({ cid, name, desc, collation, key }) => {
      const column = cid === -1 ? rowid : name
      if (column === null || (unique && key === 0)) return []
      const isOwn = cid === -1 || described.get(column)?.collation === collation
      return [{ column, descending: desc === 1, ...(!isOwn && { collation }) }]
    })
    return [{ name, unique, columns: indexed }]
  })
  if (rowid === null) return indexes
  return [{ name: 'rowid', unique: true, columns: [{ column: rowid, descending: false }] }, ...indexes]
}

/** The affinity of a declared type (https://sqlite.org/datatype3.html, section 3.1). */
function affinityOf(type: string): string {
  if (/int/i.test(type)) return 'integer'
  if (/char|clob|text/i.test(type)) return 'text'
  if (type === '' || /blob/i.test(type)) return 'blob'
  return /real|floa|doub/i.test(type) ? 'real' : 'numeric'
}
