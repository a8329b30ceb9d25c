import { createHash } from 'node:crypto'
import type { Database } from './database.ts'
import { migrations as all, type Migration } from './migrations/index.ts'
import { channel } from './postgres/session/notifications.ts'
import type { Pool, PoolClient } from 'pg'
import { systemClock, type Clock } from '../runtime/clock.ts'
import { locks } from './advisory-locks.ts'
import { bounded } from './postgres/driver/statement.ts'
import type { Engine } from './query-runner.ts'
import type { SqlValue } from './sqlite/connection.ts'
import { poolTransaction, sessionReset } from './postgres/transaction/transaction.ts'
import { rejectBeyondMigration } from './statement-kinds.ts'

/** The database has a breaking migration that this program does not know. */
export class NewerDatabase extends Error {
  constructor({ number, name }: { number: number; name: string }) {
    super(
      `the database has migration ${number} (${name}), which this version of Postern does not know and ` +
        'cannot work with: run the newer version, or restore a backup made before it',
    )
    this.name = 'NewerDatabase'
  }
}

/** The database has another text of one of this program's migrations. Only unreleased migrations change. */
export class UnreleasedDatabase extends Error {
  constructor(database: Database, options?: ErrorOptions) {
    const remedy = database.engine === 'sqlite' ? `delete ${database.file}, or ` : ''
    super(
      'another, unreleased build of Postern created this database, and its data cannot be upgraded. ' +
        `Run that build, or start over: ${remedy}set DATABASE_URL to a new, empty database`,
      options,
    )
    this.name = 'UnreleasedDatabase'
  }
}

/** Another program has a table, or an index, of the same name in this database. */
export class OccupiedDatabase extends Error {
  constructor(name: string, options?: ErrorOptions) {
    super(
      `the database has a table or an index "${name}" of another program. Give Postern a database of its own or, on PostgreSQL, ` +
        'a schema: `create schema postern`, and end DATABASE_URL with ?options=-csearch_path%3Dpostern',
      options,
    )
    this.name = 'OccupiedDatabase'
  }
}

/** The database cannot store all characters. */
export class UnsuitableEncoding extends Error {
  constructor(encoding: string) {
    super(
      `the database has the encoding ${encoding}, which cannot store all characters: create another one with ` +
        "`create database postern encoding 'UTF8' template template0`, and set DATABASE_URL to it",
    )
    this.name = 'UnsuitableEncoding'
  }
}

interface Applied {
  number: number
  name: string
  breaking: number
  checksum: string
}

/**
 * Processes of older versions keep their events until their sessions have ended, but cannot commit, because the claim differs. The
 * number before the colon identifies the process.
 */
const voidClaims = `update event_queue set claim = split_part(claim, ':', 1) || ':before-migration'
  where status = 'pending' and claim is not null`

const log: MigrationLog<Migration, Applied> = {
  table: 'migrations',
  columnsOf: (integer) =>
    `number ${integer} primary key, name text not null, breaking integer not null, applied_at ${integer} not null,
    checksum text not null`,
  select: 'select number, name, breaking, checksum from migrations order by number',
  pendingAfter,
  sqlOf: (migration, engine) => migration[engine],
  rowOf: (migration, now, engine) => {
    const { number, name, breaking } = migration
    return [number, name, breaking ? 1 : 0, now, checksumOf(migration[engine])]
  },
  async afterwards(client, applied, pending) {
    if (applied.length > 0 && pending.some(({ breaking }) => breaking)) await client.query(voidClaims)
    if (pending.length > 0) await client.query(`notify ${channel}, 'migrated'`)
  },
}

/**
 * Applies the service's pending migrations.
 * @throws NewerDatabase if the database has a breaking migration that `migrations` lacks
 * @throws UnreleasedDatabase, OccupiedDatabase, UnsuitableEncoding
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = all,
  options: MigrationOptions = {},
): Promise<string[]> {
  await requireUnicode(database)
  return applyMigrations(database, log, migrations, options).catch((error: Error) => rethrow(error, database))
}

/** @throws UnsuitableEncoding */
async function requireUnicode(database: Database): Promise<void> {
  // A file of SQLite has UTF-8 or UTF-16.
  if (database.engine === 'sqlite') return
  const { rows } = await database.pool.query<{ encoding: string }>(
    `select current_setting('server_encoding') as encoding`,
  )
  const { encoding } = rows[0]!
  if (encoding !== 'UTF8') throw new UnsuitableEncoding(encoding)
}

/** As PostgreSQL and SQLite say that a table, an index or the first column of the table of migrations is another one. */
const taken = /^(?:relation|table|index) "?(\w+)"? already exists$/
const foreignLog = /^(?:no such column: number|column "number" does not exist)$/
/** Unreleased versions recorded no checksums. */
const withoutChecksums = /^(?:no such column: checksum|column "checksum" does not exist)$/

function rethrow(error: Error, database: Database): never {
  if (withoutChecksums.test(error.message)) throw new UnreleasedDatabase(database, { cause: error })
  const name = foreignLog.test(error.message) ? log.table : taken.exec(error.message)?.[1]
  throw name === undefined ? error : new OccupiedDatabase(name, { cause: error })
}

/** A statement, for both engines, that selects the first breaking migration of the database that is not among these. */
export function selectUnknownBreaking(migrations: readonly Migration[]): string {
  const known = migrations.filter(({ breaking }) => breaking).map(({ number }) => number)
  return `select number, name from migrations where breaking = 1 and number not in (${known.join(', ')}) order by number limit 1`
}

/**
 * The names of the pending migrations. Reads only.
 * @throws NewerDatabase, UnreleasedDatabase, OccupiedDatabase, UnsuitableEncoding as `migrate` does
 */
export async function pendingMigrations(
  database: Database,
  migrations: readonly Migration[] = all,
): Promise<string[]> {
  await requireUnicode(database)
  return pendingNames(database, log, migrations).catch((error: Error) => rethrow(error, database))
}

/** Whether the database has all migrations as this program knows them, and no breaking one that it lacks. */
export async function isUpToDate(database: Database): Promise<boolean> {
  try {
    return (await pendingMigrations(database)).length === 0
  } catch (error) {
    if (error instanceof NewerDatabase || error instanceof UnreleasedDatabase) return false
    throw error
  }
}

function pendingAfter(
  applied: readonly Applied[],
  known: readonly Migration[],
  database: Database,
): Migration[] {
  const numbers = new Set(known.map(({ number }) => number))
  const unknownBreaking = applied.find(({ number, breaking }) => breaking === 1 && !numbers.has(number))
  if (unknownBreaking) throw new NewerDatabase(unknownBreaking)
  const checksums = new Map(applied.map(({ number, checksum }) => [number, checksum]))
  const pending = known.filter(({ number }) => !checksums.has(number))
  for (const migration of known)
    if (
      !pending.includes(migration) &&
      checksums.get(migration.number) !== checksumOf(migration[database.engine])
    )
      throw new UnreleasedDatabase(database)
  return pending
}

/** Comments and layout may change in a released migration. */
function checksumOf(statements: string): string {
  return createHash('sha256')
    .update(statements.replaceAll(/(?:--.*|\s)+/g, ' ').trim())
    .digest('hex')
}

/** Milliseconds for one migration, and to wait for a concurrent one. */
const longestMigration = 24 * 3_600_000
/** Milliseconds to wait for a concurrent migration before the log says so: most have nothing to do. */
const waitToldAfter = 5_000

/** How the wait for the migration of another process is reported. */
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
      await client.query(bounded(longestMigration, 'select pg_advisory_xact_lock($1)', [locks.migration]))
    } finally {
      cancel()
    }
    return work(client)
  })
}
