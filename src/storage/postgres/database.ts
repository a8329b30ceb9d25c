import type { CompiledQuery, QueryResult } from 'kysely'
import type { Pool } from 'pg'
import { systemClock } from '../../runtime/clock.ts'
import type { BeforeCommit } from '../shared-transactions.ts'
import type { PostgresDatabase, RunLast, TransactionOptions, Tx } from '../database.ts'
import { kyselyOver } from '../query-runner.ts'
import { SharedTransactionQueue } from '../sharing/shared-transaction-queue.ts'
import { mayRunAgain, translated } from '../unavailable.ts'
import { queryRows } from './driver/queries.ts'
import { joinInserts } from './driver/joined-inserts.ts'
import { bounded, toResult, toStatement } from './driver/statement.ts'
import { ConnectionShares } from './pool/connection-shares.ts'
import { openConnections, type ConnectionOptions, type Connections } from './connections.ts'
import { liveConnections } from './pool/live-connections.ts'
import { Semaphore } from './pool/semaphore.ts'
import { openReplica, type ReplicaOptions } from './replica.ts'
import { sharedClaimingSession } from './session/claim-session.ts'
import { ListeningSession } from './session/listening-session.ts'
import { Notifications } from './session/notifications.ts'
import { PostgresRevocations } from './session/revocations.ts'
import { postgresTransactions, sharedByAll } from './transaction/transaction-driver.ts'
import { PostgresTransaction } from './transaction/transaction.ts'

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
  /** Called when the service begins, and stops, to use the standby. */
  onReplica?: ReplicaOptions['onReplica']
}

/** Opens a database. Nothing is connected yet: it may be unavailable now. */
export function openPostgres(url: string, options: PostgresOptions = {}): PostgresDatabase {
  const connections = openConnections(url, options)
  const { pool, continuity, onError, sessionConnector, counts } = connections
  const listening = new ListeningSession(sessionConnector, onError, continuity.check)
  const notifications = new Notifications(pool, listening, onError)
  const revocations = new PostgresRevocations(pool, listening, onError)
  continuity.onSetBack(() => revocations.forgetAll())
  const replica = openReplica(options, connections)
  const lists = new Semaphore(counts.quickLists, listsWait)
  const slowLists = new Semaphore(counts.lists, listsWait)
  const maintenance = new Semaphore(1, maintenanceWait)
  const autocommitting = kyselyOver('postgres', (query) => run(pool, query))
  return {
    engine: 'postgres',
    pool,
    seeks: connections.seeks,
    sessions: connections.sessions,
    // If a network path becomes silent, this session notices it first. Each idle connection of the pools would cost a caller
    // the limit of a statement.
    claiming: sharedClaimingSession(sessionConnector, () => connections.connector.renew()),
    addCheck: connections.addCheck,
    checkPooling: connections.checkPoolers,
    replica,
    lists: (work, isQuick = false) => (isQuick ? lists.run(work) : slowLists.run(() => lists.run(work))),
    maintenance: (work) => maintenance.run(work),
    rows: (statement, client) => queryRows(client ?? pool, statement),
    reader: autocommitting,
    readerAside: autocommitting,
    single: (statement) => statement(autocommitting),
    insertTogether: async (inserts) => void (await run(pool, joinInserts(inserts))),
    ...transactionsOf(pool, revocations),
    share: sharing(connections, options),
    signal: (name) => notifications.send(name),
    signalHere: (name) => notifications.here(name),
    signalOthers: (name) => notifications.others(name),
    onSignal: (name, listener) => notifications.on(name, listener),
    publish: (...message) => notifications.publish(...message),
    onPublished: (...heard) => notifications.onPublished(...heard),
    revocations,
    saw: (...numbers) => continuity.saw(...numbers),
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

function transactionsOf(
  pool: Pool,
  revocations: PostgresRevocations,
): Pick<PostgresDatabase, 'begin' | 'transaction'> {
  return {
    begin: (options = {}) => new PostgresTransaction(pool, options),
    async transaction<T>(
      work: (tx: Tx, last: RunLast) => Promise<T>,
      options: TransactionOptions = {},
    ): Promise<T> {
      for (let attempt = 1; ; attempt += 1) {
        const transaction = new PostgresTransaction(pool, options)
        try {
          const result = await work(transaction.tx, transaction.last)
          await transaction.commit()
          await revocations.heard(transaction.tx)
          return result
        } catch (error) {
          await transaction.rollback()
          if (attempt >= 3 || !mayRunAgain(error)) throw error
        }
      }
    },
  }
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
      batches: true,
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
