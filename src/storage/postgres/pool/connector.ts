import { setTimeout as sleep } from 'node:timers/promises'
import pg, { type Client, type PoolConfig, type PoolClient } from 'pg'
import { StorageUnavailable, isWithoutRoom } from '../../unavailable.ts'
import {
  endClient,
  SessionClient,
  type Route,
  type SessionCheck,
  type SessionClientConfig,
  ServerMoved,
} from '../driver/session-client.ts'
import { parseAddress, type PostgresAddress, type SessionAttributes } from '../servers/address.ts'
import { Locator, type Place, type ServerState } from '../servers/locator.ts'

/** Default limits for connecting, in milliseconds: with one server, and for each of several. */
const connectWithin = 3_000
const oneConnectsWithin = 2_000

/** On a standby, both are true. */
const askState = `select pg_is_in_recovery() as recovering, current_setting('transaction_read_only') = 'on' as "readOnly"`

/**
 * The server notices within twenty seconds that a client is unreachable: by unanswered probes on an idle session, otherwise by
 * unacknowledged data. By default, this takes two hours, in which the session keeps its locks, transaction and connection slot.
 * https://www.postgresql.org/docs/current/runtime-config-connection.html#RUNTIME-CONFIG-TCP-SETTINGS
 */
const noticeLostClient = `set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 2;
  set tcp_user_timeout = 20000`

/**
 * The server also notices during a statement that the connection was closed; by default only at its end, which a lock can delay for any
 * time. Since PostgreSQL 14, and not on each operating system.
 * https://www.postgresql.org/docs/current/runtime-config-connection.html#GUC-CLIENT-CONNECTION-CHECK-INTERVAL
 */
const noticeClosedClient = 'set client_connection_check_interval = 500'

/** Milliseconds after which a session that began read-only is replaced: the server may take writes by then. */
const readOnlyFor = 3_000

interface SessionSettings {
  /** The application name, for the server's views. Default `postern`. */
  name?: string
  /** Milliseconds for connecting, unless the address sets a limit. Default 3,000. */
  connectWithin?: number
  /** Milliseconds for a statement. Then it fails and its connection is closed: the network path may be silent. */
  answerWithin: number
  /** Whether the session ends soon, so that only `firstStatements` run at its start. Default false. */
  brief?: boolean
  /** Statements that run before any other, except on connections that may lead to a pooler. */
  firstStatements?: string
}

interface PoolOptions extends Pick<SessionSettings, 'answerWithin'> {
  /** Connections at most. */
  max: number
  /** Called with errors on connections that no caller waits for, and when the server has no room for another connection. */
  onError: (error: Error) => void
  /** More statements at the start of each session. */
  settings?: string | undefined
}

/**
 * The formats of times and numbers that the service can read; a database, role or server may have other defaults. The order of
 * day and month in input, and the time zone, are not changed. Before PostgreSQL 12, exact numbers need 3 more digits.
 */
const readableFormats = 'set datestyle to iso; set extra_float_digits to 3'

/** Makes all connections to one database, in pools and beside them, with the same address, encryption, types and checks. */
export class Connector {
  readonly #address: PostgresAddress
  readonly #locator: Locator
  /** Whether a pooler may change the session of a connection between transactions. */
  readonly pooled: boolean
  readonly #checks: SessionCheck[] = []
  readonly #sessions = new Set<Client>()
  #abandoned: Error | undefined
  /** Sessions that began before a renewal, or began read-only some time ago. */
  readonly #outdated = new WeakSet<Client>()
  readonly #endListeners: (() => void)[] = []

  /**
   * @param url see `parseAddress`
   * @param options.ofSeveral which of several servers to use, unless the address tells. Default `read-write`.
   * @param options.pooled whether the address may lead to a pooler that changes the session of a connection between transactions:
   * then no session is set up, and no statement is prepared with a name. Default false.
   * @throws Error if the address, or a file that it names, cannot be read
   */
  constructor(url: string, options: { ofSeveral?: SessionAttributes; pooled?: boolean } = {}) {
    const { ofSeveral = 'read-write', pooled = false } = options
    this.pooled = pooled
    this.#address = parseAddress(url)
    const { hosts, attributes } = this.#address
    const wanted = attributes ?? (hosts.length === 1 ? 'any' : ofSeveral)
    const ask = (place: Place, signal: AbortSignal) => this.#ask(place, signal)
    this.#locator = new Locator(this.#address, wanted, ask, this.#address.connectWithin ?? oneConnectsWithin)
    // Throws now, and not at the first connection, if a certificate's file cannot be read.
    void new SessionClient(this.#config({ answerWithin: connectWithin }))
  }

  /** Adds a check to all new sessions, before their first use. If it rejects, connecting fails with its error. */
  addCheck(check: SessionCheck): void {
    this.#checks.push(check)
  }

  /** Closes all sessions at once, without notifying the server, and refuses to make others. */
  abandon(why: Error): void {
    this.#abandoned = new StorageUnavailable(why)
    for (const { connection } of this.#sessions) connection.stream.destroy(why)
  }

  /**
   * Makes pools close their present connections instead of handing them out again. A pooler keeps connections open when the
   * server behind it changes, so the results of earlier checks are void.
   */
  renew(): void {
    for (const session of this.#sessions) this.#outdated.add(session)
  }

  /** @param listener called when a connected session beside the pools ends, for any reason */
  onSessionEnd(listener: () => void): void {
    this.#endListeners.push(listener)
  }

  /** Opens a pool with pipelined connections. Nothing is connected yet. The server cancels a statement after `answerWithin`, too. */
  openPool({ max, onError, answerWithin, settings }: PoolOptions): SessionPool {
    const limit = `set statement_timeout = ${answerWithin}`
    const firstStatements = [readableFormats, limit, settings ?? []].flat().join('; ')
    const config = this.#config({ answerWithin, firstStatements }, onError)
    return new SessionPool({
      ...config,
      max,
      onError,
      // Twice, for finding the server and for connecting to it.
      connectionTimeoutMillis: this.#locator.trivial ? config.connectWithin : 2 * config.connectWithin,
      Client: SessionClient as unknown as NonNullable<PoolConfig['Client']>,
    })
  }

  /** Makes a connection beside the pools. The caller connects and ends it. */
  newClient(settings: SessionSettings): Client {
    const client = new SessionClient(this.#config(settings))
    client.once('connect', () =>
      client.once('end', () => {
        for (const listener of this.#endListeners) listener()
      }),
    )
    return client
  }

  /** Runs `work` on a connection of its own beside the pools. */
  async withClient<T>(settings: SessionSettings, work: (client: Client) => Promise<T>): Promise<T> {
    const client = this.newClient(settings)
    // Statements report errors. Without a listener they would end the process.
    client.on('error', () => undefined)
    try {
      await client.connect()
      return await work(client)
    } finally {
      await endClient(client)
    }
  }

  /** @param onError for sessions of pools, whose first statements are not waited for */
  #config(settings: SessionSettings, onError?: (error: Error) => void, route: Route = this.#locator) {
    // A pooler would run them on any session, which other clients use later.
    const firstStatements = this.pooled
      ? ''
      : [settings.brief ? [] : noticeLostClient, settings.firstStatements ?? []].flat().join('; ')
    const ofOne = this.#locator.trivial ? (settings.connectWithin ?? connectWithin) : oneConnectsWithin
    return {
      connectionString: this.#address.urlOf(this.#address.hosts[0]!),
      application_name: settings.name ?? 'postern',
      connectWithin: this.#address.connectWithin ?? ofOne,
      query_timeout: settings.answerWithin,
      keepAlive: true,
      // Statements are sent without waiting for earlier answers.
      pipeline: true,
      types: { getTypeParser },
      channelBinding: this.#address.channelBinding,
      unnamed: this.pooled,
      route,
      isCurrent: (client: Client) => !this.#outdated.has(client),
      begin: async (client: Client) => {
        this.#sessions.add(client)
        client.once('end', () => this.#sessions.delete(client))
        if (client instanceof SessionClient && firstStatements !== '') client.settings = [firstStatements]
        // Where the server's system has no such check, it fails alone.
        if (!this.pooled && !settings.brief)
          client.query(noticeClosedClient, (error) => {
            if (!error && client instanceof SessionClient)
              client.settings = [...client.settings, noticeClosedClient]
          })
        if (firstStatements !== '') {
          const first = client.query(firstStatements)
          // In a pool, the first statement is pipelined behind it.
          if (onError) first.catch(onError)
          else await first
        }
        if (route === this.#locator) await this.#confirm(client)
      },
      check: async (client: Client) => {
        if (route !== this.#locator) return
        for (const check of this.#checks) await check(client)
        if (this.#abandoned) throw this.#abandoned
        if (client instanceof SessionClient && client.isReadOnly)
          this.#replaceLater(client, onError !== undefined)
      },
    } satisfies SessionClientConfig & Pick<SessionPoolConfig, 'isCurrent'>
  }

  /** @param isPooled whether its pool closes it before its next use; otherwise its user connects again when it ends */
  #replaceLater(client: SessionClient, isPooled: boolean): void {
    const timer = setTimeout(() => {
      this.#outdated.add(client)
      if (!isPooled) endClient(client).catch(() => undefined)
    }, readOnlyFor)
    client.once('end', () => clearTimeout(timer))
  }

  /** The server may have changed since it was found. */
  async #confirm(client: Client): Promise<void> {
    const { wanted } = this.#locator
    if (wanted === 'any' || wanted === 'prefer-standby') return
    const { rows } = await client.query<ServerState>(askState)
    if (!this.#locator.suits(rows[0]!)) throw new Error(`the server is no longer ${wanted}`)
  }

  async #ask(place: Place, signal: AbortSignal): Promise<ServerState> {
    const route = { find: async () => ({ place, remembered: false }), forget: () => undefined }
    const answerWithin = this.#address.connectWithin ?? oneConnectsWithin
    const client = new SessionClient(
      this.#config({ answerWithin, name: 'postern-look', brief: true }, undefined, route),
    )
    // The statement reports errors. Without a listener they would end the process.
    client.on('error', () => undefined)
    const stop = (): void => void client.connection.stream.destroy()
    signal.addEventListener('abort', stop, { once: true })
    try {
      await client.connect()
      return (await client.query<ServerState>(askState)).rows[0]!
    } finally {
      signal.removeEventListener('abort', stop)
      void endClient(client)
    }
  }
}

/** pg returns bigint and count(*) as text. The service's values fit a number. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.INT8 && format !== 'binary') return toSafeNumber
  return pg.types.getTypeParser(oid, format) as (value: string) => unknown
}

function toSafeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} does not fit a number`)
  return value
}

type Connected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (error?: Error | boolean) => void,
) => void

interface SessionPoolConfig extends PoolConfig {
  max: number
  onError: (error: Error) => void
  /** Whether a connection may still be used. Others are closed. */
  isCurrent: (client: PoolClient) => boolean
}

/** Milliseconds without new attempts after the server refused a connection: of a pool without any, and of one that has some. */
const retryAfter = 500
const growAfter = 5_000
/** Milliseconds that closing waits for the server, which may be unreachable. */
const closeWithin = 2_000

/**
 * A pool that connects again if the server has moved, and closes connections that are outdated. While the server has no room
 * for more connections, callers wait for those that the pool has.
 */
export class SessionPool extends pg.Pool {
  readonly #isCurrent: SessionPoolConfig['isCurrent']
  readonly #onError: (error: Error) => void
  readonly #most: number
  /** The options of the pool, which pg's types hide. */
  readonly #limit: { max: number }
  readonly #open = new Set<PoolClient>()
  #allClosed: (() => void) | undefined
  #refusal: { error: Error; until: number } | undefined

  constructor(config: SessionPoolConfig) {
    super(config)
    this.#isCurrent = config.isCurrent
    this.#onError = config.onError
    this.#most = config.max
    this.#limit = (this as unknown as { options: { max: number } }).options
    this.on('error', config.onError)
    this.on('connect', (client) => {
      this.#open.add(client)
      // Without a listener, an error on a connection that is checked out would end the process.
      client.on('error', config.onError)
    })
    this.on('remove', (client) => {
      this.#open.delete(client)
      if (this.#open.size === 0) this.#allClosed?.()
    })
  }

  /** Rejects further statements. Resolves when all connections are closed, after 2 s at the latest. */
  async close(): Promise<void> {
    // pg resolves when closing has begun.
    await this.end()
    if (this.#open.size === 0) return
    const closed = new Promise<void>((resolve) => (this.#allClosed = resolve))
    await Promise.race([closed, sleep(closeWithin, undefined, { ref: false })])
  }

  /** Closes all present connections at once, even those in use. */
  abandonAll(): void {
    for (const client of this.#open) if (client instanceof SessionClient) client.abandon()
  }

  override connect(): Promise<PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<PoolClient> | void {
    if (callback) return this.#acquire(callback)
    return new Promise((resolve, reject) => {
      this.#acquire((error, client) => (error ? reject(error) : resolve(client!)))
    })
  }

  #acquire(callback: Connected): void {
    if (this.#refusal && this.#open.size === 0 && performance.now() < this.#refusal.until) {
      const { error } = this.#refusal
      return process.nextTick(() => callback(error, undefined, () => undefined))
    }
    this.#connectCurrent((error, client, release) => {
      if (!error || !isWithoutRoom(error)) return callback(error, client, release)
      this.#refusal = { error, until: performance.now() + retryAfter }
      this.#onError(error)
      if (this.#open.size === 0) return callback(error, client, release)
      this.#stopGrowing()
      this.#connectCurrent(callback)
    })
  }

  #connectCurrent(callback: Connected): void {
    super.connect((error, client, release) => {
      if (error instanceof ServerMoved) super.connect(callback)
      else if (client && !this.#isCurrent(client)) {
        release(true)
        this.#acquire(callback)
      } else callback(error, client, release)
    })
  }

  #stopGrowing(): void {
    if (this.#limit.max < this.#most) return
    this.#limit.max = this.#open.size
    setTimeout(() => (this.#limit.max = this.#most), growAfter).unref()
  }
}
