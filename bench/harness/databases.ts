// Databases for the benchmarks, on a disk that keeps what it is told to keep.
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

export type EngineName = 'sqlite' | 'postgres'
export const engineTitles: Readonly<Record<EngineName, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

const inMemory = 0x0102_1994 // TMPFS_MAGIC in statfs(2)

/** The temporary folder, unless that is kept in memory, where a durable commit would cost nothing. */
export function diskFolder(): string {
  return process.platform === 'linux' && statfsSync(tmpdir()).type === inMemory ? '/var/tmp' : tmpdir()
}

const folders = new Set<string>()
export function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  folders.clear()
}
process.on('exit', removeFolders)

/** A folder that is gone when this process ends. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(diskFolder(), 'postern-bench-'))
  folders.add(folder)
  return folder
}

export interface BenchDatabase {
  readonly engine: EngineName
  readonly url: string
  readonly folder: string
}

/** An empty database. PostgreSQL's is made on the given server and goes with it. */
export async function createDatabase(
  engine: EngineName,
  postgresServer: string | undefined,
): Promise<BenchDatabase> {
  const folder = makeFolder()
  if (engine === 'sqlite') return { engine, folder, url: `sqlite:${join(folder, 'postern.db')}` }
  if (postgresServer === undefined) throw new Error('no PostgreSQL was given')
  const name = `postern_bench_${randomBytes(6).toString('hex')}`
  await queryPostgres(postgresServer, `create database ${name} template template0`)
  const url = new URL(postgresServer)
  url.pathname = `/${name}`
  return { engine, folder, url: url.href }
}

/** One row, read past the service: `$1` and so on are the parameters on both engines. */
export async function readRow(
  { engine, url }: BenchDatabase,
  sql: string,
  values: (string | number)[] = [],
): Promise<Record<string, unknown>> {
  if (engine === 'postgres') return (await queryPostgres(url, sql, values))[0] ?? {}
  const database = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true, timeout: 5_000 })
  try {
    return database.prepare(sql.replaceAll(/\$\d+/g, '?')).get(...values) ?? {}
  } finally {
    database.close()
  }
}

/** The first column of one row, as a number. */
export async function readNumber(
  database: BenchDatabase,
  sql: string,
  values: (string | number)[] = [],
): Promise<number> {
  return Number(Object.values(await readRow(database, sql, values))[0])
}

/** Runs statements that return nothing, past the service. */
export async function execute({ engine, url }: BenchDatabase, sql: string): Promise<void> {
  if (engine === 'postgres') return void (await queryPostgres(url, sql))
  const database = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5_000 })
  try {
    database.exec(sql)
  } finally {
    database.close()
  }
}

async function queryPostgres(
  url: string,
  sql: string,
  values?: (string | number)[],
): Promise<Record<string, unknown>[]> {
  const { rows } = await withClient(url, (client) => client.query<Record<string, unknown>>(sql, values))
  return rows
}

/** Works on a connection of its own to a PostgreSQL server. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Segments (of 16 MiB) of the log that are made: about what a checkpoint leaves with the server's `max_wal_size` of 2 GB. */
const segments = 100

/**
 * Puts a new server into the state of one that has worked for a while, which writes into segments of its log that it has
 * had before. A new one has to create each segment, for which all commits wait.
 * https://www.postgresql.org/docs/current/wal-configuration.html
 */
export function settle(server: string): Promise<void> {
  return withClient(server, async (client) => {
    for (let segment = 0; segment < segments; segment += 1) {
      // An empty one would not be left.
      await client.query(`select pg_logical_emit_message(false, 'bench', 'a segment')`)
      await client.query('select pg_switch_wal()')
    }
    await client.query('checkpoint')
  })
}

/** Makes a folder inside another one. */
export function subfolder(folder: string, name: string): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  return path
}
