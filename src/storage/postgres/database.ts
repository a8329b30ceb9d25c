import type { CompiledQuery, QueryResult } from 'kysely'
import { systemClock } from '../../runtime/clock.ts'
import type { PostgresDatabase, RunLast, Signal, TransactionOptions, Tx } from '../database.ts'
import { kyselyOver } from '../query-runner.ts'
import { translateError } from '../unavailable.ts'
import { SharedTransactionQueue } from '../sharing/shared-transaction-queue.ts'
import { bounded } from './bounded-query.ts'
import { postgresTransactions, sharedByAll } from './transaction-driver.ts'
import { claimingSession } from './claim-session.ts'
import { divideConnections, leastConnections } from './connection-counts.ts'
import { ConnectionShares } from './connection-shares.ts'
import { Connector } from './connector.ts'
import { Continuity } from './continuity.ts'
import { ListeningSession } from './listening-session.ts'
import { NoRoom } from './no-room.ts'
import { Notifications } from './notifications.ts'
import { Places } from './places.ts'
import { openPool } from './pool.ts'
import { provenConnections } from './proven-connections.ts'
import { requireSessions, requireTransactions } from './pooling.ts'
import { primaryOnly } from './primary-only.ts'
import { openReplica, type ReplicaOptions } from './open-replica.ts'
import { toResult } from './result.ts'
import { PostgresRevocations } from './revocations.ts'
import { queryRows } from './rows-query.ts'
import type { SessionCheck } from './session-client.ts'
import { PostgresTransaction } from './transaction.ts'

/** Serialization failure and deadlock: the same transaction may well succeed when it is run again. */
const retryable = new Set(['40001', '40P01'])

/** Milliseconds for which a list waits for a connection, and work of hours for the end of other such work. */
const listsWait = 3_000
const maintenanceWaits = 600_000
/**
 * Leaves PostgreSQL nothing but the index that has the order, whatever it believes of the tables. A plan is made once: made
 * anew for values that look like less work, it would be made for each call.
 */
const seeking = `set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off; set jit = off;
  set plan_cache_mode = force_generic_plan`

/** Milliseconds that a statement may take where nobody says otherwise: imports and checks may read whole tables. */
const ofCommands = 600_000

/** Fails where nothing can be written: on a standby, and on a primary that was made read-only. */
const takesWrites = `do $$ begin
  if current_setting('transaction_read_only') = 'on' then
    raise exception 'the server takes no writes' using errcode = 'read_only_sql_transaction';
  end if;
end $$`

/** Milliseconds within which a database that is there answers a question that costs it nothing. */
const pingWithin = 3_000

/** Transactions that handlers share at once; those that take long get connections of their own. */
const sharedAtOnce = 3

export interface PostgresOptions {
  /**
   * Where sessions are kept for longer than a transaction. With it all other connections may go through a pooler that gives
   * them another session for each transaction. Default the database's own address.
   */
  sessionUrl?: string | undefined
  /** Connections at most, all together. Default the fewest that a process can have, of which commands use one or two. */
  connections?: number
  /** Told, at most once a minute, that the server has no room for another connection, and what to do about it. */
  onNoRoom?: (notice: string) => void
  /** Told about errors on idle connections, which nobody else would see. */
  onError?: (error: Error) => void
  /** Milliseconds that a statement may take, handlers' own apart. Default ten minutes, for commands. */
  answerWithin?: number
  /** Milliseconds that a statement of a handler may take. Default as `answerWithin`. */
  handlerAnswerWithin?: number
  /** Whether a server that is a standby counts as unavailable. Default false: commands may read there. */
  onPrimary?: boolean
  /** The address of a standby, for lists. */
  replicaUrl?: string | undefined
  /** Told when the standby begins to be used, and when it no more is. */
  onReplica?: ReplicaOptions['onChange']
}

/** Opens a pool. Nothing is connected yet: the database may be away now and come back later. */
export function openPostgres(url: string, options: PostgresOptions = {}): PostgresDatabase {
  const connections = options.connections ?? leastConnections
  const counts = divideConnections(connections)
  const noRoom = new NoRoom(connections, options.onNoRoom ?? (() => undefined))
  const onError = (error: Error): void => {
    if (!noRoom.notes(error)) options.onError?.(error)
  }
  const { answerWithin = ofCommands, handlerAnswerWithin = answerWithin } = options
  const common = { onError, answerWithin, cancelled: true }
  const { sessionUrl } = options
  const connector = new Connector(url, { pooled: sessionUrl !== undefined })
  /** For what needs a session of its own for longer than a transaction. */
  const sessions = sessionUrl === undefined ? connector : new Connector(sessionUrl)
  // When the server changes behind the pooler, connections to the pooler live on, and sessions past it do not.
  if (sessions !== connector) sessions.onSessionEnd(() => connector.renew())
  const addCheck = (check: SessionCheck): void => {
    for (const one of new Set([connector, sessions])) one.addCheck(check)
  }
  if (options.onPrimary) addCheck(primaryOnly)
  const continuity = new Continuity()
  addCheck(continuity.check)
  const beside = sessions === connector ? undefined : openPool(sessions, { ...common, max: 1 })
  const all = openPool(connector, { ...common, max: counts.pool - (beside ? 1 : 0) })
  const seeks = openPool(sessions, { ...common, max: 1, settings: seeking })
  const { pool } = all
  // What was connected before leads to the server from before, which may never answer: a handler's statement would wait for as
  // long as a handler may take.
  continuity.onSetBack(() => {
    for (const one of [all, seeks, beside]) one?.abandonAll()
  })
  const openTransaction = postgresTransactions({
    pool: provenConnections(pool),
    shares: new ConnectionShares(counts.handlers, sharedByAll),
    answerWithin: handlerAnswerWithin,
  })
  const lists = new Places(counts.lists, listsWait)
  const maintenance = new Places(1, maintenanceWaits)
  const listening = new ListeningSession(sessions, onError, continuity.check)
  const notifications = new Notifications(pool, listening, onError)
  const revocations = new PostgresRevocations(pool, listening, onError)
  continuity.onSetBack(() => revocations.forgetAll())

  const replica =
    options.replicaUrl === undefined
      ? undefined
      : openReplica(options.replicaUrl, pool, {
          ...common,
          pooled: connector.pooled,
          onChange: options.onReplica,
        })

  async function run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    try {
      return toResult(await pool.query(query.sql, query.parameters as unknown[]))
    } catch (error) {
      throw translateError(error)
    }
  }

  const begin = (transactionOptions: TransactionOptions = {}) =>
    new PostgresTransaction(pool, transactionOptions)

  async function transaction<T>(
    work: (tx: Tx, last: RunLast) => Promise<T>,
    transactionOptions?: TransactionOptions,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const transaction = begin(transactionOptions)
      try {
        const result = await transaction.within(() => work(transaction.tx, transaction.last))
        await transaction.commit()
        await revocations.heard(transaction.tx)
        return result
      } catch (error) {
        await transaction.rollback()
        if (attempt >= 3 || !retryable.has((error as { code?: string } | undefined)?.code ?? '')) throw error
      }
    }
  }

  const autocommitting = kyselyOver('postgres', run)
  return {
    engine: 'postgres',
    pool,
    seeks: seeks.pool,
    replica,
    lists: (work) => lists.run(work),
    maintenance: (work) => maintenance.run(work),
    rows: (statement, client) =>
      client ? queryRows(client, statement) : lists.run(() => queryRows(pool, statement)),
    sessions: beside?.pool ?? pool,
    claiming: claimingSession(sessions),
    newClient: (settings) => sessions.newClient(settings),
    addCheck,
    abandon(why) {
      for (const one of new Set([connector, sessions])) one.abandon(why)
      notifications.close()
      listening.close().catch(onError)
    },
    async checkPooling() {
      await requireSessions(sessions, sessionUrl === undefined ? 'DATABASE_URL' : 'DATABASE_SESSION_URL')
      if (sessionUrl !== undefined) await requireTransactions(pool, sessions)
    },
    reader: autocommitting,
    single: (statement) => statement(autocommitting),
    begin,
    share: (beforeCommit) =>
      new SharedTransactionQueue({
        engine: 'postgres',
        open: openTransaction,
        beforeCommit,
        most: sharedAtOnce,
        batches: true,
        scheduler: systemClock,
      }),
    transaction,
    signal: (name: Signal) => notifications.send(name),
    signalHere: (name: Signal) => notifications.here(name),
    signalOthers: (name: Signal) => notifications.others(name),
    onSignal: (name: Signal, listener: () => void) => notifications.on(name, listener),
    tell: (...told) => notifications.tell(...told),
    onTold: (...heard) => notifications.onTold(...heard),
    revocations,
    saw: (...numbers) => continuity.saw(...numbers),
    onSetBack: (listener) => continuity.onSetBack(listener),
    async ping() {
      // On an error, a pool closes the connection that had it.
      await pool.query(bounded(pingWithin, takesWrites)).catch((error: unknown) => {
        throw translateError(error)
      })
    },
    async close() {
      notifications.close()
      await Promise.all([listening.close(), replica?.close()])
      await Promise.all([all.close(), seeks.close(), beside?.close()])
    },
  }
}
