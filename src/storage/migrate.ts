import type { Database } from './database.ts'
import { migrations as all } from './migrations/index.ts'
import { bounded } from './postgres/driver/statement.ts'
import { channel } from './postgres/session/notifications.ts'

export interface Migration {
  number: number
  name: string
  /** Whether a program that does not know this migration must not run on a database that has it. */
  breaking: boolean
  sqlite: string
  postgres: string
}

/**
 * The database has a breaking migration that this program does not know: of a newer version, or of a version from before the
 * first release.
 */
export class NewerDatabase extends Error {
  constructor({ number, name }: { number: number; name: string }) {
    super(
      number === unreleased.number && name === unreleased.name
        ? 'a version from before the first release of Postern created this database, and its data cannot be upgraded: ' +
            'set DATABASE_URL to a new, empty database'
        : `the database has migration ${number} (${name}), which this version of Postern does not know and ` +
            'cannot work with: run the newer version, or restore a backup made before it',
    )
    this.name = 'NewerDatabase'
  }
}

/** The second of the migrations that became one at the first release. Every database of that time has it, as breaking. */
const unreleased = { number: 2, name: 'order-keys' }

interface Applied {
  number: number
  name: string
  breaking: number
}

/** Any constant: all starters of one database wait for each other on it. */
const lockKey = 7_226_001
/** Milliseconds that one migration may take, and the wait for another starter's. */
const longest = 24 * 3_600_000

const createTable = (integer: string): string =>
  `create table if not exists migrations (number ${integer} primary key, name text not null, breaking integer not null, applied_at ${integer} not null)`
/**
 * What processes of older versions hold is theirs until their sessions have ended; but what they do is committed no more,
 * since it is bound to the claim. The number before the colon says whose it is.
 */
const voidClaims = `update event_queue set claim = split_part(claim, ':', 1) || ':before-migration'
  where status = 'pending' and claim is not null`
const selectApplied = 'select number, name, breaking from migrations order by number'

/**
 * Brings the database to this version, in one transaction under a lock: of several starters one migrates, the others
 * wait and then find it done. Returns the names of what was applied.
 * @throws NewerDatabase when the database has a breaking migration that `migrations` lacks.
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
  const client = await database.pool.connect()
  try {
    await client.query('begin; set local statement_timeout = 0')
    await client.query(bounded(longest, 'select pg_advisory_xact_lock($1)', [lockKey]))
    await client.query(createTable('bigint'))
    const { rows } = await client.query<Applied>(selectApplied)
    const pending = pendingAfter(rows, migrations)
    for (const { number, name, breaking, postgres } of pending) {
      await client.query(bounded(longest, postgres))
      await client.query('insert into migrations values ($1, $2, $3, $4)', [
        number,
        name,
        breaking ? 1 : 0,
        now,
      ])
    }
    if (rows.length > 0 && pending.some(({ breaking }) => breaking)) await client.query(voidClaims)
    if (pending.length > 0) await client.query(`notify ${channel}, 'migrated'`)
    await client.query('commit')
    client.release()
    return pending.map(({ name }) => name)
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** The numbers of those that a program must know to work with a database that has them. */
export function breakingOf(migrations: readonly Migration[]): number[] {
  return migrations.filter(({ breaking }) => breaking).map(({ number }) => number)
}

/** A statement that tells the first breaking migration of the database whose number is not in this list, in the SQL of both engines. */
export function foreignMigration(known: readonly number[]): string {
  return `select number, name from migrations where breaking = 1 and number not in (${known.join(', ')}) order by number limit 1`
}

/** The migrations that are still to be applied. Reads only. @throws NewerDatabase as `migrate`. */
export async function pendingMigrations(
  database: Database,
  migrations: readonly Migration[] = all,
): Promise<string[]> {
  const applied = await appliedMigrations(database)
  return pendingAfter(applied, migrations).map(({ name }) => name)
}

/** Whether this program can use the database as it is: it has all migrations, and no breaking one that the program lacks. */
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
