// Where the commands of a block run, as the words after its language say:
//
//     ```console                       the demo service that all pages share
//     ```console project               a service with the files that the page shows above
//     ```console project=1             the same with the first configuration of the page, not the last one above
//     ```console project PORT_X=1      the same with settings
//     ```console project person=ada    the same after the sign-in of a sample person
//     ```console project postgres      the same on PostgreSQL
//     ```console project pg_dump       the same, where pg_dump is as new as the server
//     ```console empty X=1             an empty folder without a service and without secrets
import { spawnSync } from 'node:child_process'
import pg from 'pg'
import { engines, type TestDatabase } from '../../harness/engines.ts'
import { Browser } from '../../harness/browser.ts'
import { blocksOf, fileOf, type Block } from './blocks.ts'
import { Terminal, type Place } from './terminal.ts'

const postgres = engines.find(({ name }) => name === 'postgres')

interface Wanted extends Place {
  people: string[]
  onPostgres: boolean
}

export const isPlace = ({ info }: Block): boolean => /^(?:project|empty)\b/.test(info)

/** @returns the place that a block needs, or nothing for the shared one */
export function placeOf(block: Block): Wanted | undefined {
  if (!isPlace(block)) return undefined
  const wanted: Wanted = { people: [], onPostgres: false, settings: {}, files: {} }
  for (const word of block.info.split(' ')) {
    const [, name = '', value] = /^(\w+)(?:=(.*))?$/.exec(word) ?? []
    if (word === 'empty') wanted.empty = true
    // A project has a configuration, and so no sample people.
    else if (name === 'project') {
      const above = filesAbove(block, value === undefined ? Infinity : Number(value))
      wanted.files = { 'postern.config.ts': 'export default {}\n', ...above }
    } else if (word === 'postgres' || word === 'pg_dump') wanted.onPostgres = true
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
export async function missingFor({ info }: Block): Promise<string | undefined> {
  if (/\bp(?:ostgres|g_dump)\b/.test(info) && !postgres) return 'no PostgreSQL'
  return /\bpg_dump\b/.test(info) && !(await canDump())
    ? 'no pg_dump of the version of the server'
    : undefined
}

async function canDump(): Promise<boolean> {
  const [dump = 0] = spawnSync('pg_dump', ['--version']).stdout?.toString().match(/\d+/)?.map(Number) ?? []
  const database = await postgres!.createDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query<{ server_version_num: string }>('show server_version_num')
  await client.end()
  await database.drop()
  return dump >= Math.floor(Number(rows[0]!.server_version_num) / 10_000)
}

/** The terminals of one page: blocks with the same words and files share one. */
export class Places {
  readonly #open = new Map<string, Terminal>()
  readonly #databases: TestDatabase[] = []

  async of(block: Block, shared: Terminal): Promise<Terminal> {
    const { onPostgres, people, ...place } = placeOf(block) ?? {}
    if (people === undefined) return shared
    const key = JSON.stringify([place, people, onPostgres])
    const open = this.#open.get(key)
    if (open) return open
    const terminal = new Terminal(onPostgres ? await this.#onPostgres(place) : place)
    this.#open.set(key, terminal)
    await terminal.ready()
    for (const person of people) await signIn(terminal.address, person)
    return terminal
  }

  async #onPostgres(place: Place): Promise<Place> {
    const database = await postgres!.createDatabase()
    this.#databases.push(database)
    return { ...place, settings: { DATABASE_URL: database.url, ...place.settings } }
  }

  async close(): Promise<void> {
    for (const terminal of this.#open.values()) await terminal.close()
    for (const database of this.#databases) await database.drop()
  }
}

/** What a person does in the browser at `/login`. A hook may refuse the person. */
async function signIn(address: string, person: string): Promise<void> {
  const browser = new Browser()
  const { url } = await browser.follow(`${address}/auth/demo`)
  const chosen = await browser.go(url, { method: 'POST', body: new URLSearchParams({ person }) })
  await browser.follow(new URL(chosen.headers.get('location')!, url))
}
