import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from '../../harness/free-port.ts'
import { ready, type Binaries } from '../../harness/postgres-binaries.ts'

const run = promisify(execFile)

const settings = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 120
max_wal_size = 1GB
wal_keep_size = 192MB
log_min_messages = fatal
# What is lost in a power cut does not matter here, the time of commits on a small machine does.
fsync = off
full_page_writes = off
wal_receiver_timeout = 5s
wal_retrieve_retry_interval = 200ms
hot_standby = on
`

/** A server of PostgreSQL, primary or standby, whose processes can be stopped and killed. */
export class Server {
  readonly data: string
  readonly port: number
  /** Of an account that may do anything. */
  readonly url: string
  /** Of the account that the service uses. */
  readonly serviceUrl: string
  readonly #binaries: Binaries
  #child: ChildProcess | undefined

  private constructor(binaries: Binaries, data: string, port: number) {
    this.#binaries = binaries
    this.data = data
    this.port = port
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`
    this.serviceUrl = `postgres://postern@127.0.0.1:${port}/postgres`
  }

  /** A new database cluster, which runs. */
  static async create(binaries: Binaries, data: string): Promise<Server> {
    const server = new Server(binaries, data, await freePort())
    await server.#command('initdb', `--pgdata=${data}`, ...binaries.initFlags)
    appendFileSync(join(data, 'postgresql.conf'), settings)
    await server.start()
    await server.query('create role postern login')
    await server.query('alter schema public owner to postern')
    return server
  }

  /** A server on a copy of this one, which is not started. */
  async copyTo(data: string): Promise<Server> {
    const copy = new Server(this.#binaries, data, await freePort())
    await this.backUpTo(data)
    return copy
  }

  /** Copies the data while the server runs, by the functions of its low-level backup interface. */
  async backUpTo(folder: string): Promise<void> {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { mode: 0o700 })
    const { user } = this.#binaries
    if (user) chownSync(folder, user.uid, user.gid)
    const label = await this.session(async (client) => {
      await client.query(`select pg_backup_start('chaos', true)`)
      // Files that vanish meanwhile are replayed from the log.
      await this.#copy('base backup', ['--exclude=./pg_wal/*', '--exclude=./postmaster.*'], folder)
      const { rows } = await client.query<{ labelfile: string }>(
        'select labelfile from pg_backup_stop(false)',
      )
      return rows[0]!.labelfile
    })
    await this.#copy('log', ['./pg_wal'], folder)
    writeFileSync(join(folder, 'backup_label'), label)
    if (user) chownSync(join(folder, 'backup_label'), user.uid, user.gid)
  }

  /** Makes a copy that was not started a standby of the server of this address. */
  follow(primary: string): void {
    const { hostname, port, username } = new URL(primary)
    const conninfo = `host=${hostname} port=${port} user=${username} application_name=chaos`
    appendFileSync(join(this.data, 'postgresql.auto.conf'), `\nprimary_conninfo = '${conninfo}'\n`)
    writeFileSync(join(this.data, 'standby.signal'), '')
  }

  async start(): Promise<void> {
    const pidFile = join(this.data, 'postmaster.pid')
    rmSync(pidFile, { force: true })
    this.#child = spawn(join(this.#binaries.folder, 'postgres'), ['-D', this.data, '-p', String(this.port)], {
      ...this.#spawning,
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    await ready(this.#child, pidFile)
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** `immediate` ends all its processes where they are; `fast` ends sessions in order. */
  async stop(mode: 'immediate' | 'fast' = 'immediate'): Promise<void> {
    const child = this.#child
    if (!child || !this.running) return
    const gone = once(child, 'exit')
    // Processes that were stopped take a signal to end only when they go on.
    for (const pid of this.processes()) signal(pid, 'SIGCONT')
    child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await gone
  }

  /** Ends it as a machine ends that loses its power. */
  async kill(): Promise<void> {
    const child = this.#child
    if (!child || !this.running) return
    const gone = once(child, 'exit')
    for (const pid of [child.pid!, ...this.processes()]) signal(pid, 'SIGKILL')
    await gone
  }

  /** Ends it and removes its data. */
  async discard(): Promise<void> {
    await this.kill()
    rmSync(this.data, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }

  /** Puts the data of a backup in the place of its own. It must not run. */
  restore(backup: string): void {
    rmSync(this.data, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
    renameSync(backup, this.data)
  }

  /** For the end of this program: nothing is waited for. */
  killNow(): void {
    if (this.running) for (const pid of [this.#child!.pid!, ...this.processes()]) signal(pid, 'SIGKILL')
  }

  /** Ids of its processes but the first; only Linux tells. */
  processes(): number[] {
    const { pid } = this.#child ?? {}
    if (pid === undefined || process.platform !== 'linux') return []
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return children.split(' ').filter(Boolean).map(Number)
  }

  async promote(): Promise<void> {
    await this.query('select pg_promote(true, 60)')
  }

  /** One statement, past all links. @throws Error also when it takes longer than 60 s */
  query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return queryAt<Row>(this.url, text, values)
  }

  session<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
    return sessionAt(this.url, work)
  }

  /** Changes a setting of the running server; undefined is the one of its file. */
  async set(name: string, value?: string): Promise<void> {
    const statement =
      value === undefined ? `alter system reset ${name}` : `alter system set ${name} = '${value}'`
    await this.query(statement)
    await this.query('select pg_reload_conf()')
  }

  get #spawning(): object {
    return { ...this.#binaries.user, cwd: '/', env: { ...process.env, LC_ALL: 'C' } }
  }

  #command(name: string, ...args: string[]): Promise<unknown> {
    return run(join(this.#binaries.folder, name), args, this.#spawning)
  }

  async #copy(what: string, args: string[], folder: string): Promise<void> {
    const files = args.some((arg) => !arg.startsWith('--')) ? [] : ['.']
    const script = `tar -C "$0" --warning=no-file-changed --warning=no-file-removed -cf - "\${@:2}" | tar -C "$1" -xpf -`
    await run('bash', ['-c', script, this.data, folder, ...args, ...files], this.#spawning).catch(
      (error: Error) => {
        throw new Error(`${what} of ${this.data}: ${error.message}`, { cause: error })
      },
    )
  }
}

/** One statement on a session of its own. @throws Error also when it takes longer than 60 s */
export function queryAt<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  return sessionAt(url, async (client) => (await client.query<Row>(text, values)).rows)
}

async function sessionAt<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
  })
  client.on('error', () => undefined)
  await client.connect()
  try {
    // What the service's sessions are made read-only by is not for this one. As a statement: PgBouncer refuses it as an option.
    await client.query('set default_transaction_read_only = off; set synchronous_commit = local')
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    // It has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
