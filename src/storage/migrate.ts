import type { Pool, PoolClient } from 'pg'
import type { Database } from './database.ts'
import { migrations as all } from './migrations/index.ts'
import type { Migration } from './migrations/migration.ts'
import { bounded } from './postgres/driver/statement.ts'
import { channel } from './postgres/session/notifications.ts'

/** The database has a breaking migration that this program does not know: of a newer version, or of an unreleased one. */
export class NewerDatabase extends Error {
  constructor({ number, name }: { number: number; name: string }) {
    super(
      number === unreleased.number && name === unreleased.name
        ? 'an unreleased version of Postern created this database, and its data cannot be upgraded: ' +
            'set DATABASE_URL to a new, empty database'
        : `the database has migration ${number} (${name}), which this version of Postern does not know and ` +
            'cannot work with: run the newer version, or restore a backup made before it',
    )
    this.name = 'NewerDatabase'
  }
}

/** All databases of unreleased versions have this breaking migration. No released migration 2 may have this name. */
const unreleased = { number: 2, name: 'order-keys' }

interface Applied {
  number: number
  name: string
  breaking: number
}

/** The advisory lock of migrations: concurrent ones wait for each other. */
const lockKey = 7_226_001
/** Milliseconds for one migration, and to wait for a concurrent one. */
export const longestMigration = 24 * 3_600_000

const createTable = (integer: string): string =>
  `create table if not exists migrations (number ${integer} primary key, name text not null, breaking integer not null, applied_at ${integer} not null)`
/**
 * Processes of older versions keep their events until their sessions have ended, but cannot commit, because the claim differs. The
 * number before the colon identifies the process.
 */
const voidClaims = `update event_queue set claim = split_part(claim, ':', 1) || ':before-migration'
  where status = 'pending' and claim is not null`
const selectApplied = 'select number, name, breaking from migrations order by number'

/**
 * Applies the pending migrations in one transaction under a lock, and returns their names. Concurrent processes wait, and then
 * have nothing to do.
 * @throws NewerDatabase if the database has a breaking migration that `migrations` lacks
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = all,
  now = Date.now(),
): Promise<string[]> {
  if (database.engine === 'sqlite') {
    return database.batch('request', (connection) => {
      connection.exec(`${createTable('integer')} strict`)
      const pending = pendingAfter(connection.all<Applied>(selectApplied), migrations)
      for (const { number, name, breaking, sqlite } of pending) {
        connection.exec(sqlite)
        connection.run('insert into migrations values (?, ?, ?, ?)', [number, name, breaking ? 1 : 0, now])
      }
      return pending.map(({ name }) => name)
    })
  }
  return underMigrationLock(database.pool, async (client) => {
    await client.query(createTable('bigint'))
    const { rows } = await client.query<Applied>(selectApplied)
    const pending = pendingAfter(rows, migrations)
    for (const { number, name, breaking, postgres } of pending) {
      await client.query(bounded(longestMigration, postgres))
      await client.query('insert into migrations values ($1, $2, $3, $4)', [
        number,
        name,
        breaking ? 1 : 0,
        now,
      ])
    }
    if (rows.length > 0 && pending.some(({ breaking }) => breaking)) await client.query(voidClaims)
    if (pending.length > 0) await client.query(`notify ${channel}, 'migrated'`)
    return pending.map(({ name }) => name)
  })
}

/** Runs `work` in a transaction that waits for concurrent migrations, without a limit for its statements. */
export async function underMigrationLock<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('begin; set local statement_timeout = 0')
    await client.query(bounded(longestMigration, 'select pg_advisory_xact_lock($1)', [lockKey]))
    const result = await work(client)
    await client.query('commit')
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** The numbers of the breaking migrations. */
export function breakingOf(migrations: readonly Migration[]): number[] {
  return migrations.filter(({ breaking }) => breaking).map(({ number }) => number)
}

/** A statement, for both engines, that selects the first breaking migration of the database whose number is not in the list. */
export function foreignMigration(known: readonly number[]): string {
  return `select number, name from migrations where breaking = 1 and number not in (${known.join(', ')}) order by number limit 1`
}

/** The names of the pending migrations. Reads only. @throws NewerDatabase as `migrate` does */
export async function pendingMigrations(
  database: Database,
  migrations: readonly Migration[] = all,
): Promise<string[]> {
  const applied = await appliedMigrations(database)
  return pendingAfter(applied, migrations).map(({ name }) => name)
}

/** Whether the database has all migrations, and no breaking one that this program lacks. */
export async function isUpToDate(database: Database): Promise<boolean> {
  try {
    return (await pendingMigrations(database)).length === 0
  } catch (error) {
    if (error instanceof NewerDatabase) return false
    throw error
  }
}

async function appliedMigrations(database: Database): Promise<Applied[]> {
  if (database.engine === 'sqlite') {
    const exists = database.readConnection.get(
      "select 1 from sqlite_schema where type = 'table' and name = 'migrations'",
    )
    return exists ? database.readConnection.all<Applied>(selectApplied) : []
  }
  const { rows } = await database.pool.query<{ found: string | null }>(
    "select to_regclass('migrations')::text as found",
  )
  return rows[0]?.found ? (await database.pool.query<Applied>(selectApplied)).rows : []
}

function pendingAfter(applied: readonly Applied[], known: readonly Migration[]): Migration[] {
  const numbers = new Set(known.map(({ number }) => number))
  const foreign = applied.find(({ number, breaking }) => breaking === 1 && !numbers.has(number))
  if (foreign) throw new NewerDatabase(foreign)
  const done = new Set(applied.map(({ number }) => number))
  return known.filter(({ number }) => !done.has(number))
}
