import { execute, readNumber, type BenchDatabase } from '../harness/databases.ts'

/** Tables whose rows an event leaves behind. */
export type Stored = 'events' | 'event_queue' | 'idempotency_keys' | 'deliveries' | 'attempts'

const bytesOf = {
  // The pages of the table and of its indexes (https://www.sqlite.org/dbstat.html).
  sqlite: `select coalesce(sum(pgsize), 0) from dbstat
    where aggregate = true and name in (select name from sqlite_schema where tbl_name = $1)`,
  postgres: `select pg_total_relation_size($1::regclass)::float8`,
}

/** The bytes of a table with its indexes. */
export async function storedIn(database: BenchDatabase, tables: readonly Stored[]): Promise<number> {
  // Otherwise the file lacks what is still in the log of changes.
  if (database.engine === 'sqlite') await execute(database, 'pragma wal_checkpoint(passive)')
  let sum = 0
  for (const table of tables) sum += await readNumber(database, bytesOf[database.engine], [table])
  return sum
}
