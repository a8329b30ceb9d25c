import { createHash } from 'node:crypto'
import type { Database } from './database.ts'
import { applyMigrations, pendingNames, type MigrationLog, type MigrationOptions } from './migration-log.ts'
import { migrations as all } from './migrations/index.ts'
import type { Migration } from './migrations/migration.ts'
import { channel } from './postgres/session/notifications.ts'

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
 * @throws UnreleasedDatabase, OccupiedDatabase
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = all,
  options: MigrationOptions = {},
): Promise<string[]> {
  return applyMigrations(database, log, migrations, options).catch((error: Error) => rethrow(error, database))
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

/** The numbers of the breaking migrations. */
export function breakingOf(migrations: readonly Migration[]): number[] {
  return migrations.filter(({ breaking }) => breaking).map(({ number }) => number)
}

/** A statement, for both engines, that selects the first breaking migration of the database whose number is not in the list. */
export function selectUnknownBreaking(known: readonly number[]): string {
  return `select number, name from migrations where breaking = 1 and number not in (${known.join(', ')}) order by number limit 1`
}

/** The names of the pending migrations. Reads only. @throws NewerDatabase, UnreleasedDatabase, OccupiedDatabase as `migrate` does */
export async function pendingMigrations(
  database: Database,
  migrations: readonly Migration[] = all,
): Promise<string[]> {
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
    .update(statements.replaceAll(/(?:--.*|\s)+/g, ' '))
    .digest('hex')
}
