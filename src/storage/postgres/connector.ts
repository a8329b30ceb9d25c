import pg, { type Client, type Pool, type PoolConfig } from 'pg'
import { parseAddress, type PostgresAddress } from './address.ts'
import { endClient } from './end-client.ts'
import { LimitedPool } from './limited-pool.ts'
import { Locator, type Place, type ServerState } from './locator.ts'
import { prepareNothing } from './keeps-prepared.ts'
import type { RenewedPoolConfig } from './retrying-pool.ts'
import { SessionClient, type Route, type SessionCheck, type SessionClientConfig } from './session-client.ts'
import type { SessionAttributes } from './url-parameters.ts'
import { StorageUnavailable } from '../unavailable.ts'

/** Milliseconds that a connection may take where nobody says otherwise; of several servers, each of them. */
const connectWithin = 3_000
const oneConnectsWithin = 2_000

/** A standby says `on` to both. */
const askState = `select pg_is_in_recovery() as recovering, current_setting('transaction_read_only') = 'on' as "readOnly"`

/**
 * A server notices after twenty seconds that a machine is gone without a word: by unanswered probes on a session that is idle,
 * otherwise by what is not acknowledged. By default that takes two hours, in which the session keeps its locks, its
 * transaction and its place among `max_connections`.
 * https://www.postgresql.org/docs/current/runtime-config-connection.html#RUNTIME-CONFIG-TCP-SETTINGS
 */
const noticeLostClient = `set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 2;
  set tcp_user_timeout = 20000`

export interface SessionSettings {
  /** How the server's views name the session. Default `postern`. */
  name?: string
  /** Milliseconds that the server may take for the connection, where the address says nothing. Default 3,000. */
  connectWithin?: number
  /**
   * Milliseconds that a statement may take. Then it fails, and its connection is closed: a path that went silent answers
   * nothing, and tells nobody.
   */
  answerWithin: number
  /** Whether it is ended after some questions: then nothing is set up but the first statements. Default false. */
  brief?: boolean
  /** Statements that go out before any other; none do where the connection may be a pooler's. */
  firstStatements?: string
}

export interface PoolSettings extends SessionSettings {
  /** Connections at most. */
  max: number
  /** Told about errors on connections that nobody is waiting for. */
  onError: (error: Error) => void
}

/**
 * Makes every connection to one database, for pools and for sessions beside them, so that address, encryption, types and
 * checks are the same for all.
 */
export class Connector {
  readonly #address: PostgresAddress
  readonly #locator: Locator
  /** Whether the connections may be given another session of the server for each transaction. */
  readonly pooled: boolean
  readonly #checks: SessionCheck[] = []
  readonly #sessions = new Set<Client>()
  #abandoned: Error | undefined
  /** How often the checks of before became void, and how often at the begin of each session. */
  #renewals = 0
  readonly #begun = new WeakMap<Client, number>()
  readonly #lossListeners: (() => void)[] = []

  /**
   * @param url as `parseAddress` reads it
   * @param options.ofSeveral which of several servers is wanted where the address says nothing. Default `read-write`.
   * @param options.pooled whether the address may lead to a pooler that gives a connection another session of the server for
   * each transaction: then no session is set up, and no statement is prepared under a name. Default false.
   * @throws Error when the address cannot be read, or a file that it names
   */
  constructor(url: string, options: { ofSeveral?: SessionAttributes; pooled?: boolean } = {}) {
    const { ofSeveral = 'read-write', pooled = false } = options
    this.pooled = pooled
    this.#address = parseAddress(url)
    const { hosts, attributes } = this.#address
    const wanted = attributes ?? (hosts.length === 1 ? 'any' : ofSeveral)
    const ask = (place: Place, signal: AbortSignal) => this.#ask(place, signal)
    this.#locator = new Locator(this.#address, wanted, ask, this.#address.connectWithin ?? oneConnectsWithin)
    // Reads the files of certificates.
    void new SessionClient(this.#config({ answerWithin: connectWithin }))
  }

  /**
   * Has every session that is made from now on checked before its first use, after the first statements and the checks that
   * were added before. A check that rejects closes the connection, and the caller that wanted it gets the error.
   */
  addCheck(check: SessionCheck): void {
    this.#checks.push(check)
  }

  /** Ends all sessions at once, without a word to the server, and refuses to make others. */
  abandon(why: Error): void {
    this.#abandoned = new StorageUnavailable(why)
    for (const { connection } of this.#sessions) connection.stream.destroy(why)
  }

  /**
   * Has connections that were made before now be closed in place of being handed out by a pool once more. For a pooler, whose
   * connections live on when the server behind it changes: what was checked of them is not known any more.
   */
  renew(): void {
    this.#renewals += 1
  }

  /** @param listener told when a session beside the pools ends that was connected, by whatever cause */
  onSessionEnd(listener: () => void): void {
    this.#lossListeners.push(listener)
  }

  #keep(client: Client): void {
    if (this.#abandoned) throw this.#abandoned
    this.#sessions.add(client)
    client.once('end', () => this.#sessions.delete(client))
  }

  /**
   * A pool whose connections send what is asked for in one turn of the loop together. None is connected yet. A connection may take
   * twice the time of a server: for finding it, and for connecting to it.
   */
  newPool({ max, onError, ...settings }: PoolSettings): Pool {
    const config = this.#config(settings, onError)
    const pool = new LimitedPool({
      ...config,
      max,
      connectionTimeoutMillis: this.#locator.trivial ? config.connectWithin : 2 * config.connectWithin,
      // Statements are sent without waiting for the answers to those before them.
      pipeline: true,
      // pg-pool makes it with its own options, which hold those of this class.
      Client: SessionClient as unknown as NonNullable<PoolConfig['Client']>,
    })
    if (this.pooled) prepareNothing(pool)
    return pool
  }

  /** A connection beside the pools: not connected yet, and the caller's to end. Its statements go out one after another. */
  newClient(settings: SessionSettings): Client {
    const client = new SessionClient(this.#config(settings))
    const tell = (): void => {
      for (const listener of this.#lossListeners) listener()
    }
    client.once('connect', () => client.once('end', tell))
    return client
  }

  /** @param onError where statements are not waited for before those behind them */
  #config(settings: SessionSettings, onError?: (error: Error) => void, route: Route = this.#locator) {
    // Through a pooler they would be for the session that it has at hand, and for others after us.
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
      types: { getTypeParser },
      channelBinding: this.#address.channelBinding,
      unnamed: this.pooled,
      route,
      isCurrent: (client: Client) => this.#begun.get(client) === this.#renewals,
      begin: async (client) => {
        this.#begun.set(client, this.#renewals)
        if (firstStatements !== '') {
          const first = client.query(firstStatements)
          // In a pool it goes out with the first statement, and before it.
          if (onError) first.catch(onError)
          else await first
        }
        if (route === this.#locator) await this.#confirm(client)
      },
      check: async (client) => {
        if (route !== this.#locator) return
        for (const check of this.#checks) await check(client)
        this.#keep(client)
      },
    } satisfies SessionClientConfig & RenewedPoolConfig
  }

  /** What the server was when it was found it may be no more. */
  async #confirm(client: Client): Promise<void> {
    const { wanted } = this.#locator
    if (wanted === 'any' || wanted === 'prefer-standby') return
    const { rows } = await client.query<ServerState>(askState)
    if (!this.#locator.suits(rows[0]!)) throw new Error(`the server is not ${wanted} any more`)
  }

  async #ask(place: Place, signal: AbortSignal): Promise<ServerState> {
    const route = { find: async () => ({ place, remembered: false }), forget: () => undefined }
    const answerWithin = this.#address.connectWithin ?? oneConnectsWithin
    const client = new SessionClient(
      this.#config({ answerWithin, name: 'postern-look', brief: true }, undefined, route),
    )
    // What goes wrong is told by what was asked; without a listener it would end the process.
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

/** bigint columns and count(*) come as text unless asked otherwise; ours fit a number (ids, times, counts). */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.INT8 && format !== 'binary') return toSafeNumber
  return pg.types.getTypeParser(oid, format) as (value: string) => unknown
}

function toSafeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} does not fit a number`)
  return value
}
