// Where the commands of a block run, as the words after its language say:
//
//     ```console                       the demo service that all pages share
//     ```console project               a service with the files that the page shows above
//     ```console project=1             the same with the first configuration of the page, not the last one above
//     ```console project PORT_X=1      the same with settings
//     ```console project sample        the same with what `postern init` writes
//     ```console project person=ada    the same after the sign-in of a sample person
//     ```console project server        the same, on a PostgreSQL of its own, which `sudo -u postgres` administers
//     ```console project pg_dump       the same, on one that the pg_dump of this machine can dump
//     ```console project server down   the same, after that PostgreSQL has stopped
//     ```console project old=passport  the same with OLD_DATABASE_URL, a PostgreSQL filled by old/passport.sql
//     ```console project gate          the same; the commands call the service https://gate.example.com
//     ```console empty X=1             an empty folder without a service and without secrets
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { projectFiles } from '../../../src/cli/init.ts'
import { version } from '../../../src/runtime/version.ts'
import { dumpable } from '../../harness/dumpable-postgres.ts'
import { asAdmin, engines } from '../../harness/engines.ts'
import { startOwnPostgres, type OwnPostgres, type PostgresOptions } from '../../harness/postgres.ts'
import { Browser } from '../../harness/browser.ts'
import { blocksOf, fileOf, stepsOf, type Block } from './blocks.ts'
import { secrets, Terminal, type Place } from './terminal.ts'

const postgres = engines.find(({ name }) => name === 'postgres')

interface Wanted extends Place {
  people: string[]
  /** A PostgreSQL of its own; with `pg_dump`, one that the machine's can dump. */
  on?: 'server' | 'pg_dump'
  /** That server has stopped. */
  down?: boolean
  /** The file of statements that fill the database of another system. */
  old?: string
}

export const isPlace = ({ info }: Block): boolean => /^(?:project|empty)\b/.test(info)

/** @returns the place that a block needs, or nothing for the shared one */
export function placeOf(block: Block): Wanted | undefined {
  if (!isPlace(block)) return undefined
  const wanted: Wanted = { people: [], settings: {}, files: {} }
  for (const word of block.info.split(' ')) {
    const [, name = '', value] = /^(\w+)(?:=(.*))?$/.exec(word) ?? []
    if (word === 'empty') wanted.empty = true
    else if (word === 'down') wanted.down = true
    else if (word === 'gate') wanted.name = 'https://gate.example.com'
    // A project has a configuration, and so no sample people.
    else if (name === 'project') {
      const above = filesAbove(block, value === undefined ? Infinity : Number(value))
      wanted.files = { 'postern.config.ts': 'export default {}\n', ...above }
    } else if (word === 'sample') wanted.files = sampleProject()
    else if (word === 'server' || word === 'pg_dump') wanted.on = word
    else if (name === 'person') wanted.people.push(value!)
    else if (name === 'old') wanted.old = join(import.meta.dirname, 'old', `${value!}.sql`)
    else if (/^[A-Z]/.test(name)) wanted.settings = { ...wanted.settings, [name]: value! }
    else throw new Error(`${block.from}: what does ${word} mean?`)
  }
  return wanted
}

function sampleProject(): Record<string, string> {
  const written = Object.entries(projectFiles({ name: 'shop', version, empty: false }))
  return Object.fromEntries(written.filter(([path]) => /^(?:postern\.config\.ts$|migrations\/)/.test(path)))
}

/** The last version of each file that the page shows before a block, without configurations after the given number. */
function filesAbove({ page, from }: Block, configurations: number): Record<string, string> {
  let left = configurations
  const files: Record<string, string> = {}
  const lineOf = (at: string): number => Number(at.split(':')[1])
  for (const block of blocksOf(page)) {
    if (lineOf(block.from) >= lineOf(from)) break
    const configures = block.language === 'ts' && block.text.includes('export default defineConfig')
    const file = configures ? 'postern.config.ts' : fileOf(block)
    if (configures && left-- <= 0) continue
    if (file !== undefined && /^(?:ts|sql|js|csv)$/.test(block.language)) files[file] = block.text
  }
  return files
}

/** @returns what this machine lacks for a block */
export function missingFor(block: Block): string | undefined {
  const { on, old } = placeOf(block) ?? {}
  if ((on ?? old) && !postgres) return 'no PostgreSQL'
  const program = stepsOf(block)
    .map(({ command }) => /(?<=^|\$\()(?:psql|sqlite3|lsof)\b/.exec(command)?.[0])
    .find((name) => name !== undefined && spawnSync(name, ['--version']).error)
  if (program !== undefined) return `no ${program}`
  return on === 'pg_dump' && !dumpable() ? 'no pg_dump, or no server that it can dump' : undefined
}

/** As on a server that a reader has installed. */
const installed: PostgresOptions = { settings: { max_connections: '100' } }

/** A change of these needs another service. Other files appear in a terminal as the page shows them. */
const isRead = ([path]: [string, string]): boolean => /^(?:postern\.config\.ts$|migrations\/)/.test(path)

/** The terminals of one page: blocks with the same words, configuration and migrations share one. */
export class Places {
  readonly #open = new Map<string, Terminal>()
  readonly #servers: OwnPostgres[] = []
  /** Of databases, servers and terminals, in the order of their starts. */
  readonly #ends: (() => Promise<void>)[] = []

  async of(block: Block, shared: Terminal): Promise<Terminal> {
    const wanted = placeOf(block)
    if (wanted === undefined) return shared
    const { files = {}, ...rest } = wanted
    const key = JSON.stringify([rest, Object.entries(files).filter(isRead)])
    const terminal = this.#open.get(key) ?? (await this.#start(wanted))
    this.#open.set(key, terminal)
    terminal.write(files)
    return terminal
  }

  async #start({ on, down, people, old, ...place }: Wanted): Promise<Terminal> {
    const settings = {
      ...place.settings,
      ...(old !== undefined && { OLD_DATABASE_URL: await this.#filledBy(old) }),
    }
    const terminal = new Terminal({
      ...place,
      settings,
      ...(on && (await this.#databaseOn(on, settings))),
    })
    // Before it is ready, so that it is closed with the others.
    this.#ends.push(() => terminal.close())
    await terminal.ready()
    if (on === 'pg_dump') await addSubscriber(terminal.address)
    for (const person of people) await signIn(terminal.address, person)
    if (down) await this.#servers.at(-1)!.stop()
    return terminal
  }

  /** @returns the URL of a database with what another system has stored */
  async #filledBy(file: string): Promise<string> {
    const database = await postgres!.createDatabase()
    this.#ends.push(() => database.drop())
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(readFileSync(file, 'utf8'))
    await client.end()
    return database.url
  }

  async #databaseOn(on: NonNullable<Wanted['on']>, settings: Place['settings']): Promise<Place> {
    const server = await startOwnPostgres({ ...installed, ...(on === 'pg_dump' && dumpable()) })
    this.#servers.push(server)
    this.#ends.push(() => server.stop())
    await asAdmin(server.url, 'create role postern login')
    await asAdmin(server.url, 'create database postern owner postern')
    const own = `postgres://postern@${new URL(server.url).host}/postern`
    return { settings: { DATABASE_URL: own, ...settings }, server: server.url }
  }

  async close(): Promise<void> {
    for (const end of this.#ends.toReversed()) await end()
  }
}

/** So that the database has a sealed value, as that of a product. */
async function addSubscriber(address: string): Promise<void> {
  const answer = await fetch(`${address}/subscribers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secrets.ADMIN_API_KEY}`, 'content-type': 'application/json' },
    body: '{"url":"https://shop.example/hooks"}',
  })
  if (answer.status !== 201) throw new Error(`POST /subscribers: ${answer.status} ${await answer.text()}`)
}

/** What a person does in the browser at `/login`. A hook may refuse the person. */
async function signIn(address: string, person: string): Promise<void> {
  const browser = new Browser()
  const { url } = await browser.follow(`${address}/auth/demo`)
  const chosen = await browser.go(url, { method: 'POST', body: new URLSearchParams({ person }) })
  await browser.follow(new URL(chosen.headers.get('location')!, url))
}
