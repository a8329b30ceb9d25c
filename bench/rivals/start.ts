import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDatabase, type BenchDatabase, type EngineName } from '../harness/databases.ts'
import { startHelper, startProcess, type Helper } from '../harness/processes.ts'
import { redisVersion, startRedis, type AppendFsync } from '../harness/redis.ts'
import type { Scale } from '../measure/bench.ts'

/** Another product, in one of the ways that its users would run it. */
export interface Rival {
  name: string
  file: string
  /** The settings among which the fastest is looked for, most of them from the product's own advice. */
  tunings: readonly object[]
  /** The Redis that it needs. */
  redis?: AppendFsync
  engines: readonly EngineName[]
  /** What Postern is to reach of it. */
  bound?: number
}

const folder = import.meta.dirname

interface Lock {
  packages: Record<string, { version?: string; optional?: boolean }>
}

function readLock(path: string): Lock {
  return JSON.parse(readFileSync(path, 'utf8')) as Lock
}

/** By npm's own record of what it has put there. */
function isInstalled(): boolean {
  const record = join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(record)) return false
  const found = readLock(record).packages
  return Object.entries(readLock(join(folder, 'package-lock.json')).packages).every(
    ([path, { version, optional }]) => path === '' || optional || found[path]?.version === version,
  )
}

/**
 * Brings the packages of the other products here, as the lock beside this file says, when they are not there yet; npm's
 * progress is shown. Resolves with what stood in the way, or with nothing.
 */
async function installRivals(): Promise<string | undefined> {
  if (isInstalled()) return undefined
  console.error('installing what Postern is compared with (npm install in bench/rivals)')
  const { npm_execpath: cli, npm_node_execpath: node } = process.env
  const [command, first] = cli && /npm-cli\.c?js$/.test(cli) ? [node ?? process.execPath, [cli]] : ['npm', []]
  const began = performance.now()
  // `npm ci` refuses a lock that does not name the builds of an optional package for every system.
  const args = ['install', '--no-save', '--ignore-scripts', '--loglevel=error']
  const child = startProcess(command, [...first, ...args], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    shell: command === 'npm' && process.platform === 'win32',
  })
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0 || !isInstalled()) return `npm install in bench/rivals ended with ${String(code)}`
  } catch (error) {
    return `npm could not be run: ${String(error)}`
  }
  console.error(`installed in ${((performance.now() - began) / 1000).toFixed(1)} s`)
  return undefined
}

/** What of them can be measured here, and why not the others. */
export async function availableRivals(
  all: readonly Rival[],
  scale: Scale,
): Promise<{ available: readonly Rival[]; notes: string[] }> {
  const failure = scale.rivals ? await installRivals() : 'it was not asked for'
  if (failure !== undefined) return { available: [], notes: [`No other product was measured: ${failure}.`] }
  const version = redisVersion()
  if (version !== undefined) return { available: all, notes: [`Redis ${version}.`] }
  return {
    available: all.filter(({ redis }) => redis === undefined),
    notes: [
      'BullMQ was not measured: redis-server is not installed (on Debian: apt-get install redis-server).',
    ],
  }
}

/** Starts a rival in a process of its own, on a database of its own, and with a Redis of its own where it needs one. */
export async function startRival<Round, Answer>(
  stack: AsyncDisposableStack,
  { file, redis }: Rival,
  engine: EngineName,
  postgresServer: string | undefined,
  createTables: (database: BenchDatabase) => Promise<void>,
): Promise<{ database: BenchDatabase; helper: Helper<object, Round, Answer> }> {
  const database = await createDatabase(engine, postgresServer)
  await createTables(database)
  const redisPort = redis === undefined ? undefined : stack.use(await startRedis(redis)).port
  const parameters = { engine, url: database.url, redisPort }
  return { database, helper: stack.use(await startHelper<object, Round, Answer>(file, parameters)) }
}
