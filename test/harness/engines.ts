// A fresh database on each engine, for suites that must hold on both.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'node:test'
import pg from 'pg'

export interface TestDatabase {
  url: string
  drop(): Promise<void>
}

export interface Engine {
  name: 'sqlite' | 'postgres'
  createDatabase(): Promise<TestDatabase>
}

// A test that fails before it drops its database must not leave the folder behind.
const folders = new Set<string>()
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const sqlite: Engine = {
  name: 'sqlite',
  async createDatabase() {
    const folder = mkdtempSync(join(tmpdir(), 'postern-sqlite-'))
    folders.add(folder)
    return {
      url: `sqlite:${join(folder, 'postern.db')}`,
      async drop() {
        await rm(folder, { recursive: true, force: true, maxRetries: 3 })
        folders.delete(folder)
      },
    }
  },
}

const postgres: Engine = {
  name: 'postgres',
  async createDatabase() {
    const server = process.env['TEST_DATABASE_URL']
    if (!server) {
      throw new Error(
        'TEST_DATABASE_URL is not set. `npm test` starts a PostgreSQL and sets it: run the tests through that.',
      )
    }
    const name = `postern_test_${randomBytes(8).toString('hex')}`
    // template0 has no sessions that could block the copy; FILE_COPY spares writing all of it to the log once more.
    await asAdmin(server, `CREATE DATABASE ${name} TEMPLATE template0 STRATEGY file_copy`)
    const url = new URL(server)
    url.pathname = `/${name}`
    return { url: url.href, drop: () => asAdmin(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
  },
}

async function asAdmin(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

const only = process.env['TEST_ENGINE']
if (only && only !== 'sqlite' && only !== 'postgres')
  throw new Error(`TEST_ENGINE is sqlite or postgres, not ${only}`)

export const engines: readonly Engine[] = [sqlite, postgres].filter((engine) => !only || engine.name === only)

/** One describe per engine: `onEachEngine('inbox', (engine) => { before(async () => engine.createDatabase()) ... })`. */
export function onEachEngine(title: string, suite: (engine: Engine) => void): void {
  for (const engine of engines) describe(`${title} (${engine.name})`, () => suite(engine))
}
