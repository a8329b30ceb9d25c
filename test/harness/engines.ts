// A fresh database on each engine, for suites that must hold on both.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { copyFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'node:test'
import pg from 'pg'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { memoryFolder } from './memory-folder.ts'
import { scoped } from './scoped.ts'

export interface TestDatabase extends AsyncDisposable {
  url: string
  drop(): Promise<void>
}

export interface Engine {
  name: 'sqlite' | 'postgres'
  /** An empty one. */
  createDatabase(): Promise<TestDatabase>
  /** One with all tables: a copy of the template of the run, where it has made one. */
  createMigratedDatabase(): Promise<TestDatabase>
}

// A test that fails before it drops its database must not leave the folder behind.
const folders = new Set<string>()
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** The environment's names for the templates that `createTemplates` made: a file, and a database of the server. */
const templates = { sqlite: 'TEST_TEMPLATE_FILE', postgres: 'TEST_TEMPLATE_DATABASE' } as const

/** The environment's name for the folder in which SQLite's databases are made. */
const homeOfFiles = 'TEST_DATABASE_FOLDER'

const onFile: Engine = {
  name: 'sqlite',
  async createMigratedDatabase() {
    const database = await onFile.createDatabase()
    const template = process.env[templates.sqlite]
    if (template === undefined) await migrateDatabase(database.url)
    else await copyFile(template, fileOf(database))
    return database
  },
  async createDatabase() {
    const folder = mkdtempSync(join(process.env[homeOfFiles] ?? tmpdir(), 'postern-sqlite-'))
    folders.add(folder)
    return scoped({
      url: `sqlite:${join(folder, 'postern.db')}`,
      async drop() {
        await rm(folder, { recursive: true, force: true, maxRetries: 3 })
        folders.delete(folder)
      },
    })
  },
}

const onServer: Engine = {
  name: 'postgres',
  // template0 has no sessions that could block the copy.
  createDatabase: () => copyPostgres('template0'),
  async createMigratedDatabase() {
    const template = process.env[templates.postgres]
    const database = await copyPostgres(template ?? 'template0')
    if (template === undefined) await migrateDatabase(database.url)
    // Else the service would take the copy for a database that was restored, and leave out numbers (docs/adr/0029).
    else await asAdmin(database.url, ownContinuity)
    return database
  },
}

const ownContinuity = `update continuity set life = md5(random()::text), server = postern_server(),
  since = extract(epoch from clock_timestamp()) * 1000`

/** Sessions for copies, each of which takes a tenth of a copy's processor time to open. They close a second after the last copy. */
let sessions: pg.Pool | undefined

async function copyPostgres(template: string): Promise<TestDatabase> {
  const server = process.env['TEST_DATABASE_URL']
  if (!server) {
    throw new Error(
      'TEST_DATABASE_URL is not set. `npm test` starts a PostgreSQL and sets it: run the tests through that.',
    )
  }
  const name = `postern_test_${randomBytes(8).toString('hex')}`
  // FILE_COPY spares writing all of it to the log once more.
  sessions ??= new pg.Pool({
    connectionString: server,
    max: 2,
    idleTimeoutMillis: 1_000,
    allowExitOnIdle: true,
  }).on('error', () => undefined)
  const admin = sessions
  await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return scoped({
    url: url.href,
    drop: async () => void (await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  })
}

/**
 * The address of a database with the longest time for connecting: on a busy machine it takes more than the three seconds of the default. An
 * address of another server, or that leads over a link, stays as it is: a test breaks those.
 */
export function patient(url: string): string {
  const server = process.env['TEST_DATABASE_URL']
  if (!server || !URL.canParse(url) || new URL(url).host !== new URL(server).host) return url
  const address = new URL(url)
  if (!address.searchParams.has('connect_timeout')) address.searchParams.set('connect_timeout', '30')
  return address.href
}

async function migrateDatabase(url: string): Promise<void> {
  // Not `await using`: the tests of the package load this file on Node.js 22 as well.
  const database = await openDatabase(patient(url))
  try {
    await migrate(database)
  } finally {
    await database.close()
  }
}

/**
 * Makes a migrated database of each engine, which the processes that get this one's environment copy: to migrate takes half
 * the time of a start on PostgreSQL. Returns a function that drops them, and all databases of SQLite.
 */
export async function createTemplates(): Promise<() => Promise<void>> {
  const made: TestDatabase[] = []
  const home = mkdtempSync(join(memoryFolder(2 ** 30), 'postern-databases-'))
  process.env[homeOfFiles] = home
  for (const engine of engines) {
    const database = await engine.createDatabase()
    made.push(database)
    await migrateDatabase(database.url)
    process.env[templates[engine.name]] =
      engine.name === 'sqlite' ? fileOf(database) : new URL(database.url).pathname.slice(1)
  }
  return async () => {
    for (const engine of engines) Reflect.deleteProperty(process.env, templates[engine.name])
    await Promise.all(made.map((database) => database.drop()))
    // Also of processes that were killed.
    rmSync(home, { recursive: true, force: true })
  }
}

const fileOf = ({ url }: TestDatabase): string => url.slice('sqlite:'.length)

/** Runs statements on the database of a URL. */
export async function asAdmin(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  try {
    await client.connect()
    await client.query(statement)
  } finally {
    await client.end()
  }
}

const only = process.env['TEST_ENGINE']
if (only && only !== 'sqlite' && only !== 'postgres')
  throw new Error(`TEST_ENGINE is sqlite or postgres, not ${only}`)

export const engines: readonly Engine[] = [onFile, onServer].filter((engine) => !only || engine.name === only)
export const sqlite = engines.find(({ name }) => name === 'sqlite')
export const postgres = engines.find(({ name }) => name === 'postgres')

/** Options of a test or suite that needs this engine. */
export const onSqlite = { skip: !sqlite && 'TEST_ENGINE leaves SQLite out' }
export const onPostgres = { skip: !postgres && 'TEST_ENGINE leaves PostgreSQL out' }

/** For suites whose outcome depends on no engine: they have neither races nor statements of their own. */
export function onOneEngine(title: string, suite: (engine: Engine) => void): void {
  describe(title, () => suite(engines[0]!))
}

/** One describe per engine: `onEachEngine('event queue', (engine) => { before(async () => engine.createDatabase()) ... })`. */
export function onEachEngine(title: string, suite: (engine: Engine) => void): void {
  for (const engine of engines) describe(`${title} (${engine.name})`, () => suite(engine))
}
