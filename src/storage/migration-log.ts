import type { Pool, PoolClient } from 'pg'
import { systemClock, type Clock } from '../runtime/clock.ts'
import { migrationLock } from './advisory-locks.ts'
import type { Database } from './database.ts'
import { bounded } from './postgres/driver/statement.ts'
import type { Engine } from './query-runner.ts'
import type { SqlValue } from './sqlite/connection.ts'
import { poolTransaction } from './postgres/pool/pool-transaction.ts'
import { sessionReset } from './postgres/transaction/transaction.ts'
import { rejectBeyondMigration } from './statement-kinds.ts'

/** Milliseconds for one migration, and to wait for a concurrent one. */
const longestMigration = 24 * 3_600_000
/** Milliseconds of a wait for a concurrent one before it is told: most have nothing to do. */
const waitToldAfter = 5_000

/** How a wait for the migration of another process is told. */
export interface MigrationOptions {
  /** Called once, when another process has kept this one waiting for five seconds. Only on PostgreSQL. */
  readonly onWait?: () => void
  readonly clock?: Clock
}

/** A table of applied migrations, and how to apply those that it lacks. */
export interface MigrationLog<Migration extends { name: string }, Applied extends object> {
  readonly table: string
  /** The definitions of the table's columns. @param integer the engine's type for integers of 64 bits */
  readonly columnsOf: (integer: string) => string
  /** The statement that reads the applied migrations. */
  readonly select: string
  /** Returns the migrations to apply, in their order. @throws if the database and `migrations` do not fit together */
  readonly pendingAfter: (
    applied: readonly Applied[],
    migrations: readonly Migration[],
    database: Database,
  ) => readonly Migration[]
  readonly sqlOf: (migration: Migration, engine: Engine) => string
  /** The row of an applied migration; `now` is in milliseconds since 1970. */
  readonly rowOf: (migration: Migration, now: number, engine: Engine) => readonly (string | number)[]
  /** Returns the error for a migration that fails. Default: the database's error. */
  readonly failureOf?: (migration: Migration, error: unknown) => Error
  /** Runs in the same transaction, on PostgreSQL only. */
  readonly afterwards?: (
    client: PoolClient,
    applied: readonly Applied[],
    pending: readonly Migration[],
  ) => Promise<void>
}

/**
 * Applies the pending migrations in one transaction under a lock, and returns their names. Concurrent processes wait, and then have
 * nothing to do. On SQLite it blocks the event loop until the end: the service does not serve yet.
 */
export async function applyMigrations<Migration extends { name: string }, Applied extends object>(
  database: Database,
  log: MigrationLog<Migration, Applied>,
  migrations: readonly Migration[],
  { onWait, clock = systemClock }: MigrationOptions = {},
): Promise<string[]> {
  const now = clock.now()
  const { table, select } = log
  const failureOf = (migration: Migration, error: unknown): unknown =>
    log.failureOf ? log.failureOf(migration, error) : error
  if (database.engine === 'sqlite')
    return database.batch('request', (connection) => {
      connection.exec(`create table if not exists ${table} (${log.columnsOf('integer')}) strict`)
      const pending = log.pendingAfter(connection.all<Applied>(select), migrations, database)
      for (const migration of pending) {
        try {
          const statements = log.sqlOf(migration, 'sqlite')
          rejectBeyondMigration('sqlite', statements)
          connection.exec(statements)
        } catch (error) {
          throw failureOf(migration, error)
        }
        const row: readonly SqlValue[] = log.rowOf(migration, now, 'sqlite')
        connection.run(`insert into ${table} values (${row.map(() => '?').join(', ')})`, row)
      }
      return pending.map(({ name }) => name)
    })
  const toldWait = { clock, onWait }
  return underMigrationLock(database.pool, toldWait, async (client) => {
    await client.query(`create table if not exists ${table} (${log.columnsOf('bigint')})`)
    const { rows } = await client.query<Applied>(select)
    const pending = log.pendingAfter(rows, migrations, database)
    for (const migration of pending) {
      const statements = log.sqlOf(migration, 'postgres')
      try {
        rejectBeyondMigration('postgres', statements)
        await client.query(bounded(longestMigration, statements))
      } catch (error) {
        throw failureOf(migration, error)
      }
      // The files of pg_dump, for example, set the search path.
      await client.query([...sessionReset(client), withoutLimit].join('; '))
      const row = log.rowOf(migration, now, 'postgres')
      const places = row.map((_, index) => `$${index + 1}`).join(', ')
      await client.query(`insert into ${table} values (${places})`, [...row])
    }
    await log.afterwards?.(client, rows, pending)
    return pending.map(({ name }) => name)
  })
}

/** Returns the names of the pending migrations. Reads only. @throws what `pendingAfter` throws */
export async function pendingNames<Migration extends { name: string }, Applied extends object>(
  database: Database,
  { table, select, pendingAfter }: MigrationLog<Migration, Applied>,
  migrations: readonly Migration[],
): Promise<string[]> {
  let applied: readonly Applied[] = []
  if (database.engine === 'sqlite') {
    const exists = database.readConnection.get(
      `select 1 from sqlite_schema where type = 'table' and name = '${table}'`,
    )
    if (exists) applied = database.readConnection.all<Applied>(select)
  } else {
    const { rows } = await database.pool.query<{ found: string | null }>(
      `select to_regclass('${table}')::text as found`,
    )
    if (rows[0]?.found) applied = (await database.pool.query<Applied>(select)).rows
  }
  return pendingAfter(applied, migrations, database).map(({ name }) => name)
}

const withoutLimit = 'set local statement_timeout = 0'

/** Runs `work` in a transaction that waits for concurrent migrations, without a limit for its statements. */
function underMigrationLock<T>(
  pool: Pool,
  { clock, onWait = () => undefined }: { clock: Clock; onWait: MigrationOptions['onWait'] },
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  return poolTransaction(pool, async (client) => {
    await client.query(withoutLimit)
    const cancel = clock.after(waitToldAfter, onWait)
    try {
      await client.query(bounded(longestMigration, 'select pg_advisory_xact_lock($1)', [migrationLock]))
    } finally {
      cancel()
    }
    return work(client)
  })
}
