import type { Client } from 'pg'
import { type SessionCheck, SessionClient } from './driver/session-client.ts'
import { divideConnections, leastConnections, connectionLimitNotice } from './pool/connection-shares.ts'
import { Connector, type SessionPool } from './pool/connector.ts'
import { requireSessions, requireTransactions } from './pool/pooler-check.ts'

const statement = 'select life, events, deliveries from postern_continue($1, $2)'
const isInstalled = `select to_regproc('postern_continue') is not null as installed`

interface Answer {
  /** Null on a standby. */
  life: string | null
  events: number
  deliveries: number
}

/**
 * Notices that the database returned to an earlier state: a backup was restored, or a standby was promoted that lacked some
 * transactions. The database would then assign numbers again that this process knows for other events and deliveries. Each new
 * session first calls `postern_continue()` (storage/migrations/0001-initial/servers.ts), which raises the sequences in that case.
 * See docs/adr/0029.
 */
class Continuity {
  readonly #listeners = new Set<() => void>()
  #life: string | undefined
  /** The highest numbers seen in this life of the database. */
  #events = 0
  #deliveries = 0

  /** Runs on each new session before its first use, and regularly on the listening session. */
  readonly check: SessionCheck = async (client) => {
    const answer = await this.#ask(client)
    if (!answer) return
    if (answer.life === null) {
      // The standby may be promoted during this session, which was not checked as a session of a primary.
      await client.query('set default_transaction_read_only = on')
      return
    }
    const before = this.#life
    this.#life = answer.life
    if (before === undefined || before === answer.life)
      return this.recordNumbers(answer.events, answer.deliveries)
    this.#events = answer.events
    this.#deliveries = answer.deliveries
    for (const listener of this.#listeners) listener()
  }

  /** Records numbers that the database assigned to this process. */
  recordNumbers(event: number, delivery: number): void {
    if (event > this.#events) this.#events = event
    if (delivery > this.#deliveries) this.#deliveries = delivery
  }

  /** @param listener called within the check, before the database is used in its new state */
  onSetBack(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** `undefined` before the first migration. A call would then fail, and leave an error in the server's log. */
  async #ask(client: Client): Promise<Answer | undefined> {
    if (this.#life === undefined) {
      const { rows } = await client.query<{ installed: boolean }>(isInstalled)
      if (!rows[0]!.installed) return undefined
    }
    const { rows } = await client.query<Answer>(statement, [this.#events, this.#deliveries])
    return rows[0]
  }
}

export interface ConnectionOptions {
  /**
   * An address at which a connection keeps its session. With it, the other address may lead to a pooler that changes sessions
   * between transactions. Default: the same address.
   */
  sessionUrl?: string | undefined
  /** Connections at most. Default: the smallest possible number; commands use one or two. */
  connections?: number
  /** Called, at most once a minute, when the server has no room for another connection. */
  onNoRoom?: (notice: string) => void
  /** Called with errors on idle connections. */
  onError?: (error: Error) => void
  /** Milliseconds for a statement, except those of handlers. Default ten minutes, for commands that read whole tables. */
  answerWithin?: number
  /** Whether a standby counts as unavailable. Default false: commands may read there. */
  onPrimary?: boolean
}

const defaultAnswerWithin = 600_000

/** Makes PostgreSQL use the index that has the order, whatever its statistics say, and one plan for all values. */
const seekSettings = `set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off; set jit = off;
  set plan_cache_mode = force_generic_plan`

/** All connections of a process to the primary. */
export type Connections = ReturnType<typeof openConnections>

/** Opens the pools of a process. Nothing is connected yet: the database may be unavailable now. */
export function openConnections(url: string, options: ConnectionOptions) {
  const { sessionUrl, connections = leastConnections, answerWithin = defaultAnswerWithin } = options
  const counts = divideConnections(connections)
  const isNoticed = connectionLimitNotice(connections, options.onNoRoom)
  const onError = (error: Error): void => {
    if (!isNoticed(error)) options.onError?.(error)
  }
  const connector = new Connector(url, { pooled: sessionUrl !== undefined })
  const sessionConnector = sessionUrl === undefined ? connector : new Connector(sessionUrl)
  // If the server behind the pooler changes, connections to the pooler stay open, but sessions end.
  if (sessionConnector !== connector) sessionConnector.onSessionEnd(() => connector.renew())
  const connectors = new Set([connector, sessionConnector])
  const addCheck = (check: SessionCheck): void => {
    for (const one of connectors) one.addCheck(check)
  }
  if (options.onPrimary) addCheck(primaryOnly)
  const continuity = new Continuity()
  addCheck(continuity.check)

  const open = (on: Connector, max: number, settings?: string): SessionPool =>
    on.openPool({ onError, answerWithin, max, settings })
  const beside = sessionConnector === connector ? undefined : open(sessionConnector, 1)
  const main = open(connector, counts.pool - (beside ? 1 : 0))
  const seeks = open(sessionConnector, 1, seekSettings)
  const pools = [main, seeks, beside ?? []].flat()
  // Older connections lead to the former server, which may never answer.
  continuity.onSetBack(() => {
    for (const one of pools) one.abandonAll()
  })
  return {
    counts,
    /** Makes the connections of `pool`. */
    connector,
    /** Makes connections that keep their session. */
    sessionConnector,
    pool: main,
    seeks,
    sessions: beside ?? main,
    continuity,
    answerWithin,
    onError,
    addCheck,
    abandon(why: Error): void {
      for (const one of connectors) one.abandon(why)
    },
    checkPooling: async (): Promise<void> => {
      await requireSessions(
        sessionConnector,
        sessionUrl === undefined ? 'DATABASE_URL' : 'DATABASE_SESSION_URL',
      )
      if (sessionUrl !== undefined) await requireTransactions(main, sessionConnector)
    },
    async close(): Promise<void> {
      await Promise.all(pools.map((one) => one.close()))
    },
  }
}

/**
 * The server is a standby. Its data may be old: it does not know whether a session or key was revoked since, or up to which number
 * all events are present.
 */
class StandbyServer extends Error {
  /** read_only_sql_transaction, as for a statement that writes. */
  readonly code = '25006'

  constructor() {
    super('the server is a standby')
    this.name = 'StandbyServer'
  }
}

/**
 * Rejects sessions on a standby. A primary never becomes a standby during a session, so each session is asked once. A session that begins
 * read-only stays so, also when the server has become writable: it is replaced after a while.
 * https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-RECOVERY-INFO-TABLE
 */
const primaryOnly: SessionCheck = async (client) => {
  const { rows } = await client.query<{ standby: boolean; readOnly: boolean }>(
    `select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as "readOnly"`,
  )
  if (rows[0]!.standby) throw new StandbyServer()
  if (client instanceof SessionClient) client.isReadOnly = rows[0]!.readOnly
}
