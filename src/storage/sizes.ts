import { sql, type RawBuilder } from 'kysely'
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

interface TableSize {
  name: string
  /** PostgreSQL: of its statistics. SQLite: exact, or an upper bound from the row numbers. */
  rows: number
  isEstimate: boolean
  /** Bytes with indexes, on PostgreSQL; SQLite would have to read the whole file. */
  bytes: number | null
}

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

async function tablesOfFile({ slowReader: reader }: SqliteDatabase): Promise<TableSize[]> {
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

/** Rows that one number counts at most, so that a long queue costs no more than this. */
export const mostCounted = 10_000

/** A number of rows, up to `mostCounted`. */
export interface Count {
  count: number
  /** Whether there are more. */
  more: boolean
}

interface QueueCounts {
  /**
   * Received events that wait for a handler: all, those that are due, and those that failed before. Blocked ones wait for
   * another event of their order key, and are not among `waiting`.
   */
  receiving: { waiting: Count; due: Count; retrying: Count; blocked: Count; failed: Count }
  /** Deliveries that wait for an attempt, the same. Those of paused subscribers wait, and are not due. */
  emitting: { waiting: Count; due: Count; retrying: Count; dead: Count }
}

interface Row {
  waiting: number
  due: number
  retrying: number
  blocked: number
  over: number
}

/** Counts what waits in the queues, by partial indexes. @param now milliseconds since 1970 */
export async function countQueues(database: Database, now: number): Promise<QueueCounts> {
  const some = mostCounted + 1
  // SQLite would read the index of all failures.
  const retried = sql.raw(database.engine === 'sqlite' ? 'indexed by event_queue_retrying' : '')
  const received = await one(
    database,
    sql<Row>`select count(*) as waiting, sum(case when due_at <= ${now} then 1 else 0 end) as due,
      (select count(*) from (select 1 from event_queue ${retried}
        where status = 'pending' and failed_at is not null limit ${some}) r) as retrying,
      (select count(*) from (select 1 from event_queue where status = 'blocked' limit ${some}) b) as blocked,
      (select count(*) from (select 1 from event_queue where status = 'failed' limit ${some}) f) as over
      from (select due_at from event_queue where status = 'pending' limit ${some}) w`,
  )
  const emitted = await one(
    database,
    sql<Row>`select count(*) as waiting,
      sum(case when due_at <= ${now} and active then 1 else 0 end) as due,
      sum(case when attempts > 0 then 1 else 0 end) as retrying, 0 as blocked,
      (select count(*) from (select 1 from deliveries d join subscribers s on s.id = d.subscriber_id
        where d.status = 'dead' limit ${some}) f) as over
      from (select d.due_at, d.attempts, s.status = 'active' as active from deliveries d
        join subscribers s on s.id = d.subscriber_id where d.status = 'pending' limit ${some}) w`,
  )
  return {
    receiving: { ...counts(received), blocked: bounded(received.blocked), failed: bounded(received.over) },
    emitting: { ...counts(emitted), dead: bounded(emitted.over) },
  }
}

async function one({ slowReader: reader }: Database, query: RawBuilder<Row>): Promise<Row> {
  const { rows } = await query.execute(reader)
  return rows[0]!
}

/** Of a queue that is longer than the bound, only the part that was looked at is known. */
function counts({ waiting, due, retrying }: Row): Record<'waiting' | 'due' | 'retrying', Count> {
  const { more } = bounded(waiting)
  const part = (count: number | null): Count => {
    const known = bounded(count ?? 0)
    return { ...known, more: known.more || more }
  }
  return { waiting: bounded(waiting), due: part(due), retrying: part(retrying) }
}

function bounded(count: number): Count {
  return { count: Math.min(count, mostCounted), more: count > mostCounted }
}
