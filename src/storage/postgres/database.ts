import { CompiledQuery, type QueryResult } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { systemClock } from '../../runtime/clock.ts'
import type { PostgresDatabase } from '../database.ts'
import { lazyTransactions } from '../lazy-transaction.ts'
import { kyselyOver } from '../query-runner.ts'
import { type BeforeCommit, SharedTransactionQueue } from '../sharing/shared-transaction-queue.ts'
import { StorageUnavailable, translated } from '../unavailable.ts'
import { queryRows } from './driver/queries.ts'
import { bounded, prepare, toResult, toStatement } from './driver/statement.ts'
import { ConnectionShares } from './pool/connection-shares.ts'
import { type ConnectionOptions, type Connections, openConnections } from './connections.ts'
import { type OnReplica, Replica } from './replica.ts'
import { claimSessions } from './session/claim-session.ts'
import { Claimer } from './session/claimer.ts'
import { ListeningSession } from './session/listening-session.ts'
import { Notifications } from './session/notifications.ts'
import { PostgresRevocations } from './session/revocations.ts'
import { openOwnTransaction, postgresTransactions, sharedByAll } from './transaction/transaction-driver.ts'

/** Milliseconds that lists, and long maintenance work, wait for their turn. */
const listsWait = 3_000
const maintenanceWait = 600_000

/** Fails on a standby and on a read-only primary. */
const requireWrites = `do $$ begin
  if current_setting('transaction_read_only') = 'on' then
    raise exception 'the server takes no writes' using errcode = 'read_only_sql_transaction';
  end if;
end $$`

/** Milliseconds in which an available database answers `requireWrites`. */
const pingWithin = 3_000

export interface PostgresOptions extends ConnectionOptions {
  /** Milliseconds for a statement of a handler. Default: as `answerWithin`. */
  handlerAnswerWithin?: number
  /** The address of a standby, for lists. */
  replicaUrl?: string | undefined
  onReplica?: OnReplica | undefined
}

/** Opens a database. Nothing is connected yet: it may be unavailable now. */
export function openPostgres(url: string, options: PostgresOptions = {}): PostgresDatabase {
  const connections = openConnections(url, options)
  const { pool, seeks, sessions, addCheck, checkPooling, continuity, onError, sessionConnector, counts } =
    connections
  const listening = new ListeningSession(sessionConnector, onError, continuity.check)
  const notifications = new Notifications(pool, listening, onError)
  const revocations = new PostgresRevocations(pool, listening, onError)
  continuity.onSetBack(() => revocations.forgetAll())
  const { replicaUrl } = options
  const replica =
    replicaUrl === undefined ? undefined : new Replica(replicaUrl, connections, options.onReplica)
  const lists = new Semaphore(counts.quickLists, listsWait)
  const slowLists = new Semaphore(counts.lists, listsWait)
  const maintenance = new Semaphore(1, maintenanceWait)
  const autocommitting = kyselyOver('postgres', (query) => run(pool, query))
  return {
    engine: 'postgres',
    pool,
    seeks,
    sessions,
    claimer: openClaimer(connections, options),
    addCheck,
    checkPooling,
    replica,
    lists: (work, isQuick = false) => (isQuick ? lists.run(work) : slowLists.run(() => lists.run(work))),
    maintenance: (work) => maintenance.run(work),
    rows: (statement, client) => queryRows(client ?? pool, statement),
    reader: autocommitting,
    slowReader: autocommitting,
    single: (statement) => statement(autocommitting),
    insertTogether: async (inserts) => void (await run(pool, joinInserts(inserts))),
    // Priorities are for the only writer of SQLite.
    ...lazyTransactions({ engine: 'postgres', open: () => openOwnTransaction(pool) }),
    share: sharing(connections, options),
    signal: (name) => notifications.send(name),
    signalHere: (name) => notifications.here(name),
    signalOthers: (name) => notifications.others(name),
    onSignal: (name, listener) => notifications.on(name, listener),
    publish: (...message) => notifications.publish(...message),
    onPublished: (...heard) => notifications.onPublished(...heard),
    revocations,
    recordNumbers: (...numbers) => continuity.recordNumbers(...numbers),
    onSetBack: (listener) => continuity.onSetBack(listener),
    ping: () => ping(pool),
    abandon(why) {
      connections.abandon(why)
      notifications.close()
      listening.close().catch(onError)
    },
    async close() {
      notifications.close()
      await Promise.all([listening.close(), replica?.close()])
      await connections.close()
    },
  }
}

function openClaimer(
  { pool, connector, sessionConnector }: Connections,
  { onError }: PostgresOptions,
): Claimer {
  return new Claimer({
    // If a network path becomes silent, this session notices it first. Each idle connection of the pools would cost a caller
    // the limit of a statement.
    open: claimSessions(sessionConnector, pool, () => connector.renew()),
    clock: systemClock,
    onError: (error) => onError?.(new Error('the session that holds the claims failed', { cause: error })),
  })
}

function sharing(
  { pool, counts, answerWithin }: Connections,
  { handlerAnswerWithin = answerWithin }: PostgresOptions,
): PostgresDatabase['share'] {
  const open = postgresTransactions({
    pool: liveConnections(pool),
    shares: new ConnectionShares(counts.handlers, sharedByAll),
    answerWithin: handlerAnswerWithin,
  })
  return <Note>(beforeCommit: BeforeCommit<Note>) =>
    new SharedTransactionQueue({
      engine: 'postgres',
      open,
      beforeCommit,
      scheduler: systemClock,
    })
}

async function run(pool: Pool, query: CompiledQuery): Promise<QueryResult<unknown>> {
  return toResult(await translated(pool.query(toStatement(query))))
}

async function ping(pool: Pool): Promise<void> {
  // After an error, the pool closes the connection.
  await translated(pool.query(bounded(pingWithin, requireWrites)))
}

/** Bounds how many pieces of work run at once. Waiting work runs in order. */
class Semaphore {
  #free: number
  readonly #within: number
  readonly #waiting: (() => void)[] = []

  /** @param within milliseconds that work may wait */
  constructor(most: number, within: number) {
    this.#free = most
    this.#within = within
  }

  /** @throws StorageUnavailable if the work cannot begin in time */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await this.#wait()
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1)
        reject(new StorageUnavailable('all connections for such work are in use'))
      }, this.#within)
      this.#waiting.push(enter)
    })
  }
}

/** Milliseconds after its last use for which a connection counts as live. */
const liveFor = 2_000
/** Milliseconds that a connection has to answer. */
const answerWithin = 2_000

/**
 * Connections of a pool; those that were idle for a while are tested first. The statements of a handler have a long limit: if the
 * network path became silent meanwhile, the first statement would wait for all of it.
 */
function liveConnections(pool: Pool): { connect(): Promise<PoolClient> } {
  const usedAt = new WeakMap<PoolClient, number>()
  pool.on('release', (_error, client) => usedAt.set(client, performance.now()))

  async function connect(): Promise<PoolClient> {
    for (;;) {
      const client = await pool.connect()
      const at = usedAt.get(client)
      if (at === undefined || performance.now() - at < liveFor || (await answers(client))) return client
      client.release(true)
    }
  }
  return { connect }
}

async function answers(client: PoolClient): Promise<boolean> {
  try {
    await client.query(bounded(answerWithin, 'select 1'))
    return true
  } catch {
    return false
  }
}

/**
 * Inserts as one statement, which has one answer and is atomic by itself. None of them sees the rows of another; foreign keys are
 * checked at the end (https://www.postgresql.org/docs/current/queries-with.html#QUERIES-WITH-MODIFYING).
 */
function joinInserts(inserts: readonly CompiledQuery[]): CompiledQuery {
  let before = 0
  const texts = inserts.map(({ sql, parameters }) => {
    const text = sql.replaceAll(/\$(\d+)/g, (_, number: string) => `$${Number(number) + before}`)
    before += parameters.length
    return text
  })
  const last = texts.pop()
  const others = texts.map((text, index) => `insert_${index} as (${text})`)
  const text = others.length === 0 ? last! : `with ${others.join(', ')} ${last}`
  return prepare(
    CompiledQuery.raw(
      text,
      inserts.flatMap(({ parameters }) => [...parameters]),
    ),
  )
}
