// The service as its users run it: `node scripts/run.mjs serve`, in production mode, with its log in a file.
import { closeSync, openSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { buildDashboard } from '../../scripts/dashboard.mjs'
import { freePort } from '../../test/harness/free-port.ts'
import { adminKey, webhookSecret } from '../load/sample.ts'
import type { BenchDatabase } from './databases.ts'
import { startProcess, stopProcess } from './processes.ts'

/** `info` is the default of the service: one line per request. */
export const production = {
  NODE_ENV: 'production',
  POSTERN_SECRET: 'bench-master-secret-of-32-bytes-or-more',
  WEBHOOK_SECRET: webhookSecret,
  ADMIN_API_KEY: adminKey,
  RATE_LIMIT: 'off',
  ALLOW_PRIVATE_NETWORK: 'true',
  LOG_LEVEL: 'info',
  // There is no load balancer that must hear of a stop.
  SHUTDOWN_DELAY: '0',
}

export interface Postern extends AsyncDisposable {
  readonly port: number
  readonly origin: string
  readonly pid: number
  /** Milliseconds from the start of the process to the first 200 of /readyz. */
  readonly startMs: number
  /** Resident memory in bytes; only Linux tells. */
  memory(): number | undefined
}

export interface Profile {
  folder: string
  name: string
}

export interface PosternOptions {
  /** The working directory: the log, and in demo mode the database. */
  folder: string
  env: Readonly<Record<string, string>>
  args?: readonly string[]
  /** The folder of the repository to start, with its dependencies installed. Default: this one. */
  checkout?: string | undefined
  /** Writes a CPU profile when the service stops. */
  profile?: Profile | undefined
}

/** The folder of another state of Postern to compare with, with its dependencies installed. */
export const checkoutBefore = process.env['BEFORE'] && resolve(process.env['BEFORE'])

const ownCheckout = join(import.meta.dirname, '..', '..')

/** Starts the service in production mode on a database, with its log beside that. */
export function startOn(
  { folder, url }: BenchDatabase,
  { env, ...options }: Partial<Omit<PosternOptions, 'folder'>> = {},
): Promise<Postern> {
  return startPostern({ ...options, folder, env: { ...production, ...env, DATABASE_URL: url } })
}

/** One for all starts of this process. */
let dashboardBuilt: Promise<boolean> | undefined

/** Starts the service and waits until it is ready. */
export async function startPostern(options: PosternOptions): Promise<Postern> {
  const { folder, env, args = [], checkout = ownCheckout, profile } = options
  // Else the service would build it within the time that it has to become ready.
  dashboardBuilt ??= buildDashboard()
  if (!(await dashboardBuilt)) throw new Error('the dashboard could not be built')
  const port = await freePort()
  const logFile = join(folder, `postern-${port}.log`)
  const log = openSync(logFile, 'a')
  const flags = profile
    ? ['--cpu-prof', `--cpu-prof-dir=${profile.folder}`, `--cpu-prof-name=${profile.name}.cpuprofile`]
    : []
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  const base = Object.entries({ PATH, HOME, NODE_COMPILE_CACHE, npm_lifecycle_event: 'bench' })
  const began = performance.now()
  const child = startProcess(
    process.execPath,
    [...flags, join(checkout, 'scripts', 'run.mjs'), 'serve', ...args],
    {
      cwd: folder,
      stdio: ['ignore', log, log],
      env: {
        ...Object.fromEntries(base.filter(([, value]) => value !== undefined)),
        PORT: String(port),
        ...(env['NODE_ENV'] === 'production' && { BASE_URL: `http://127.0.0.1:${port}` }),
        ...env,
      },
    },
  )
  closeSync(log)
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() - began > 60_000) {
      await stopProcess(child)
      throw new Error(`Postern did not become ready:\n${readFileSync(logFile, 'utf8').slice(-4_000)}`)
    }
    if ((await statusOf(port, '/readyz')) === 200) break
    await wait(5)
  }
  const startMs = performance.now() - began
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid!,
    startMs,
    memory: () => residentMemory(child.pid!),
    [Symbol.asyncDispose]: () => stopProcess(child),
  }
}

function statusOf(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const call = request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    // Nobody listens yet.
    call.on('error', () => resolve(undefined))
    call.end()
  })
}

function residentMemory(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}
