import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs'
import { secretsFile } from '../config/generated-secrets.ts'
import { backUpSqlite, filesInTheWay, restoreSqlite } from '../storage/sqlite/backup.ts'
import { sqliteFileOf } from '../storage/sqlite/files.ts'
import { CommandFailure } from './command-failure.ts'
import { interruptible, withUnmigrated } from './database.ts'
import { print } from './output.ts'
import { showProgress } from './progress.ts'
import { readSettings } from './settings.ts'
import { parseAddress } from '../storage/postgres/servers/address.ts'
import type { PostgresDatabase } from '../storage/database.ts'
import type { DatabasePlace } from '../storage/open.ts'
import { readTableSizes } from '../storage/sizes.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Copies the database to a new file, while the service may run. Everything that was acknowledged before the call is in it.
 * @throws CommandFailure if the file exists, or if PostgreSQL's programs are missing; BackupFault; UnsuitablePooler
 */
export async function backup(file: string): Promise<void> {
  const settings = readSettings()
  const { databaseUrl } = settings
  if (existsSync(file)) throw new CommandFailure(`${file} exists: name a new file`)
  const source = sqliteFileOf(databaseUrl)
  await interruptible(async ({ signal }) => {
    if (source === undefined) return dumpPostgres(await addressToDump(settings), file, signal)
    if (!existsSync(source)) throw new CommandFailure(`there is no database at ${source}`)
    const progress = showProgress(0, 'pages copied', false)
    try {
      await backUpSqlite(source, file, { signal, onProgress: (done, total) => progress.update(done, total) })
    } finally {
      progress.stop()
    }
  })
  const secrets = secretsFile(databaseUrl)
  const key = existsSync(secrets) ? secrets : 'POSTERN_SECRET'
  print(
    { file, secrets: key },
    `${file} is complete. Store ${key} in another place: without it, encrypted values cannot be read.\n`,
  )
}

/**
 * Writes a backup to the database that DATABASE_URL names. It must not exist, or must be empty.
 * @throws CommandFailure otherwise; BackupFault if the file is not a backup; UnsuitablePooler
 */
export async function restore(file: string): Promise<void> {
  const settings = readSettings()
  const { databaseUrl } = settings
  if (!existsSync(file)) throw new CommandFailure(`${file} does not exist`)
  const target = sqliteFileOf(databaseUrl)
  if (target === undefined) {
    const address = await addressToFill(settings)
    // In one transaction, so that the database stays empty if it fails.
    const options = ['--no-owner', '--no-privileges', '--single-transaction', '--exit-on-error']
    await interruptible(({ signal }) => runTool('pg_restore', [...options, file], address, signal))
  } else {
    const found = filesInTheWay(target)
    // The other files depend on what happened last, and are named only where the database itself is missing.
    const existing = found.includes(target) ? [target] : found
    if (existing.length > 0)
      throw new CommandFailure(
        `${existing.join(', ')} ${existing.length === 1 ? 'exists' : 'exist'}: ` +
          'stop the service, and move the files of this database away',
      )
    restoreSqlite(file, target)
  }
  print({ restored: file }, 'restored; run `postern doctor`, then start the service\n')
}

/**
 * The address for `pg_dump`. It changes settings of its session, and a pooler would give that session to the service next.
 * @throws UnsuitablePooler if the address leads to a pooler that changes sessions; CommandFailure if its only server is a standby
 * and the address does not ask for one
 */
async function addressToDump(place: DatabasePlace): Promise<string> {
  const address = sessionAddress(place)
  await examine(place, async ({ sessions }) => {
    if (parseAddress(address).attributes !== undefined) return
    const { rows } = await sessions.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
    if (!rows[0]!.standby) return
    const setting = place.databaseSessionUrl === undefined ? 'DATABASE_URL' : 'DATABASE_SESSION_URL'
    throw new CommandFailure(
      `${setting} leads to a standby, which may lack what the service acknowledged last. Name the primary. ` +
        'To back up the standby all the same, append target_session_attrs=standby to the parameters of the address.',
    )
  })
  return address
}

/**
 * The address for `pg_restore`, which would name the first function that exists, and not what to do.
 * @throws UnsuitablePooler as above; CommandFailure if the database is not empty
 */
async function addressToFill(place: DatabasePlace): Promise<string> {
  await examine(place, async (database) => {
    const [table] = await readTableSizes(database)
    if (table === undefined) return
    throw new CommandFailure(
      `The database of DATABASE_URL is not empty: it has the table ${table.name}. Nothing was restored. ` +
        'Create an empty one (`create database restored owner …`), and name it in DATABASE_URL.',
    )
  })
  return sessionAddress(place)
}

function examine(place: DatabasePlace, work: (database: PostgresDatabase) => Promise<void>): Promise<void> {
  return withUnmigrated(place, async (database) => {
    if (database.engine !== 'postgres') return
    // First of all: nothing is to be set up in the sessions of a pooler.
    await database.checkPooling()
    await work(database)
  })
}

function sessionAddress({ databaseUrl, databaseSessionUrl }: DatabasePlace): string {
  return databaseSessionUrl ?? databaseUrl
}

/** Writes a dump in PostgreSQL's custom format. @throws CommandFailure if `pg_dump` is missing or fails */
async function dumpPostgres(url: string, file: string, signal: AbortSignal): Promise<void> {
  const partial = `${file}.partial`
  try {
    // The dump holds what the database holds: `pg_dump` keeps the mode of a file that exists.
    rmSync(partial, { force: true })
    closeSync(openSync(partial, 'wx', 0o600))
    await runTool(
      'pg_dump',
      ['--format=custom', '--no-owner', '--no-privileges', `--file=${partial}`],
      url,
      signal,
    )
    renameSync(partial, file)
  } finally {
    rmSync(partial, { force: true })
  }
}

/** @throws CommandFailure if the program is missing or fails */
async function runTool(program: string, args: string[], url: string, signal: AbortSignal): Promise<void> {
  const { url: address, password } = parseAddress(url).forPrograms
  const child = spawn(program, [`--dbname=${address}`, ...args], {
    signal,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...(password !== undefined && { PGPASSWORD: password }) },
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-2_000)))
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    if (code !== 0) throw new CommandFailure(`${program} failed: ${output.trim()}`)
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT')
      throw new CommandFailure(
        `${program} is not on this machine: install the client programs of PostgreSQL, of the server's version or newer`,
      )
    throw error
  }
}
