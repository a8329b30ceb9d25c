import { sql } from 'kysely'
import { statSync } from 'node:fs'
import type { Database, SqliteDatabase } from './database.ts'

/** Bytes. */
export interface DatabaseSize {
  total: number
  /** SQLite: pages that rows were deleted from, which new rows use. */
  free?: number
  /** SQLite: the log of changes that a checkpoint has not moved yet. */
  log?: number
  /** SQLite: the spool beside the file. */
  spool?: number
}

export interface TableSize {
  name: string
  /** PostgreSQL: of its statistics. SQLite: exact, or an upper bound from the row numbers. */
  rows: number
  isEstimate: boolean
  /** Bytes with indexes, on PostgreSQL; SQLite would have to read the whole file. */
  bytes: number | null
}

/** Rows of a table without row numbers that are counted at most, on SQLite. */
const mostCounted = 10_000

/** How large the database is. Takes a few reads, whatever its size. */
export async function readDatabaseSize(database: Database): Promise<DatabaseSize> {
  if (database.engine === 'sqlite') return sizeOfFile(database)
  const { rows } = await sql<{
    size: number
  }>`select pg_database_size(current_database())::float8 as size`.execute(database.reader)
  return { total: rows[0]?.size ?? 0 }
}

/** The number of rows of each table, largest first, without reading the rows. */
export async function readTableSizes(database: Database): Promise<TableSize[]> {
  const tables = database.engine === 'sqlite' ? await tablesOfFile(database) : await tablesOfServer(database)
  return tables.toSorted((one, other) => other.rows - one.rows || (one.name < other.name ? -1 : 1))
}

function sizeOfFile({ file, readConnection }: SqliteDatabase): DatabaseSize {
  const pragma = (name: string): number =>
    Object.values(readConnection.get<Record<string, number>>(`pragma ${name}`) ?? {})[0] ?? 0
  const page = pragma('page_size')
  const beside = (end: string): number => statSync(file + end, { throwIfNoEntry: false })?.size ?? 0
  return {
    total: pragma('page_count') * page,
    free: pragma('freelist_count') * page,
    log: beside('-wal'),
    spool: beside('-spool'),
  }
}

async function tablesOfFile({ readerAside: reader }: SqliteDatabase): Promise<TableSize[]> {
  const { rows: tables } = await sql<{ name: string; wr: number }>`
    select name, wr from pragma_table_list
    where schema = 'main' and type = 'table' and name not like 'sqlite%'`.execute(reader)
  const sizes = tables.map(async ({ name, wr }): Promise<TableSize> => {
    const table = sql.table(name)
    // Each of the two subqueries of the second one reads one row.
    const { rows } = await (
      wr === 1
        ? sql<{
            rows: number
          }>`select count(*) as rows from (select 1 from ${table} limit ${mostCounted + 1})`
        : sql<{ rows: number }>`
            select coalesce((select max(rowid) from ${table}) - (select min(rowid) from ${table}) + 1, 0) as rows`
    ).execute(reader)
    const count = rows[0]?.rows ?? 0
    return { name, rows: count, isEstimate: wr === 1 ? count > mostCounted : count > 1, bytes: null }
  })
  return Promise.all(sizes)
}

async function tablesOfServer({ reader }: Database): Promise<TableSize[]> {
  const { rows } = await sql<{ name: string; rows: number; bytes: number }>`
    select relname as name, greatest(reltuples, 0)::float8 as rows, pg_total_relation_size(oid)::float8 as bytes
    from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace`.execute(reader)
  return rows.map(({ name, rows: count, bytes }) => ({ name, rows: count, isEstimate: true, bytes }))
}
