// Where the commands of a block run, as the words after its language say:
//
//     ```console                       the demo service that all pages share
//     ```console project               a service with the files that the page shows above
//     ```console project=1             the same with the first configuration of the page, not the last one above
//     ```console project PORT_X=1      the same with settings
//     ```console project person=ada    the same after the sign-in of a sample person
//     ```console project server        the same, on a PostgreSQL of its own, which `sudo -u postgres` administers
//     ```console project pg_dump       the same, on one that the pg_dump of this machine can dump
//     ```console empty X=1             an empty folder without a service and without secrets
import { dumpable } from '../../harness/dumpable-postgres.ts'
import { asAdmin, engines } from '../../harness/engines.ts'
import { startOwnPostgres, type PostgresOptions } from '../../harness/postgres.ts'
import { Browser } from '../../harness/browser.ts'
import { blocksOf, fileOf, type Block } from './blocks.ts'
import { Terminal, type Place } from './terminal.ts'

const hasPostgres = engines.some(({ name }) => name === 'postgres')

interface Wanted extends Place {
  people: string[]
  /** A PostgreSQL of its own; with `pg_dump`, one that the machine's can dump. */
  on?: 'server' | 'pg_dump'
}

export const isPlace = ({ info }: Block): boolean => /^(?:project|empty)\b/.test(info)

/** @returns the place that a block needs, or nothing for the shared one */
export function placeOf(block: Block): Wanted | undefined {
  if (!isPlace(block)) return undefined
  const wanted: Wanted = { people: [], settings: {}, files: {} }
  for (const word of block.info.split(' ')) {
    const [, name = '', value] = /^(\w+)(?:=(.*))?$/.exec(word) ?? []
    if (word === 'empty') wanted.empty = true
    // A project has a configuration, and so no sample people.
    else if (name === 'project') {
      const above = filesAbove(block, value === undefined ? Infinity : Number(value))
      wanted.files = { 'postern.config.ts': 'export default {}\n', ...above }
    } else if (word === 'server' || word === 'pg_dump') wanted.on = word
    else if (name === 'person') wanted.people.push(value!)
    else if (/^[A-Z]/.test(name)) wanted.settings = { ...wanted.settings, [name]: value! }
    else throw new Error(`${block.from}: what does ${word} mean?`)
  }
  return wanted
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
  const on = placeOf(block)?.on
  if (on && !hasPostgres) return 'no PostgreSQL'
  return on === 'pg_dump' && !dumpable() ? 'no pg_dump, or no server that it can dump' : undefined
}

/** As on a server that a reader has installed. */
const installed: PostgresOptions = { settings: { max_connections: '100' } }

/** The terminals of one page: blocks with the same words and files share one. */
export class Places {
  readonly #open = new Map<string, Terminal>()
  /** Of databases and servers. */
  readonly #ends: (() => Promise<void>)[] = []

  async of(block: Block, shared: Terminal): Promise<Terminal> {
    const { on, people, ...place } = placeOf(block) ?? {}
    if (people === undefined) return shared
    const key = JSON.stringify([place, people, on])
    const open = this.#open.get(key)
    if (open) return open
    const terminal = new Terminal({ ...place, ...(on && (await this.#databaseOn(on, place))) })
    this.#open.set(key, terminal)
    await terminal.ready()
    for (const person of people) await signIn(terminal.address, person)
    return terminal
  }

  async #databaseOn(on: NonNullable<Wanted['on']>, { settings }: Place): Promise<Place> {
    const server = await startOwnPostgres({ ...installed, ...(on === 'pg_dump' && dumpable()) })
    this.#ends.push(() => server.stop())
    await asAdmin(server.url, 'create role postern login')
    await asAdmin(server.url, 'create database postern owner postern')
    const own = `postgres://postern@${new URL(server.url).host}/postern`
    return { settings: { DATABASE_URL: own, ...settings }, server: server.url }
  }

  async close(): Promise<void> {
    for (const terminal of this.#open.values()) await terminal.close()
    for (const end of this.#ends) await end()
  }
}

/** What a person does in the browser at `/login`. A hook may refuse the person. */
async function signIn(address: string, person: string): Promise<void> {
  const browser = new Browser()
  const { url } = await browser.follow(`${address}/auth/demo`)
  const chosen = await browser.go(url, { method: 'POST', body: new URLSearchParams({ person }) })
  await browser.follow(new URL(chosen.headers.get('location')!, url))
}
