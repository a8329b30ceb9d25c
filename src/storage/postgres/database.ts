import type { CompiledQuery, QueryResult } from 'kysely'
import pg from 'pg'
import { systemClock } from '../../clock.ts'
import type { PostgresDatabase, RunLast, Signal, TransactionOptions, Tx } from '../database.ts'
import { kyselyOver } from '../query-runner.ts'
import { translateError } from '../unavailable.ts'
import { SharedTransactions } from '../sharing/transactions.ts'
import { carriersOn } from './carrier.ts'
import { ConnectionShares } from './connection-shares.ts'
import { Notifications } from './notifications.ts'
import { openPool } from './pool.ts'
import { toResult } from './result.ts'
import { PostgresRevocations } from './revocations.ts'
import { queryRows } from './rows-query.ts'
import { PostgresTransaction } from './transaction.ts'

/** Serialization failure and deadlock: the same transaction may well succeed when it is run again. */
const retryable = new Set(['40001', '40P01'])

/** Connections on which all is sought, for a look and for a read. */
const ofSeeks = 2
/**
 * Leaves PostgreSQL nothing but the index that has the order, whatever it believes of the tables. A plan is made once: made
 * anew for values that look like less work, it would be made for each call.
 */
const seeking = `set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off; set jit = off;
  set plan_cache_mode = force_generic_plan`

/** Transactions that handlers share at once; those that take long get connections of their own. */
const sharedAtOnce = 3

export interface PostgresOptions {
  /** Connections at most, half of them for handlers, beside those on which all is sought. Default 24. */
  connections?: number
  /** Told about errors on idle connections, which nobody else would see. */
  onError?: (error: Error) => void
}

/** Opens a pool. Nothing is connected yet: the database may be away now and come back later. */
export function openPostgres(url: string, options: PostgresOptions = {}): PostgresDatabase {
  const onError = options.onError ?? (() => undefined)
  const connections = options.connections ?? 24
  // Handlers may keep theirs for long. The others are for requests, for what is received and for the workers' own statements.
  const ofHandlers = Math.floor(connections / 2)
  const requests = openPool(url, { max: connections - ofHandlers, onError })
  const handlers = openPool(url, { max: ofHandlers, onError })
  const seeks = openPool(url, { max: ofSeeks, onError, settings: seeking })
  const { pool } = requests
  const openCarrier = carriersOn(handlers.pool, new ConnectionShares(ofHandlers))
  const notifications = new Notifications(pool, url, onError)
  const revocations = new PostgresRevocations(pool, url, onError)

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
    rows: (statement, client) => queryRows(client ?? pool, statement),
    newClient: (settings) => new pg.Client({ ...settings, connectionString: url }),
    reader: autocommitting,
    single: (statement) => statement(autocommitting),
    begin,
    share: (seal) =>
      new SharedTransactions({
        engine: 'postgres',
        open: openCarrier,
        seal,
        most: sharedAtOnce,
        batches: true,
        scheduler: systemClock,
      }),
    transaction,
    signal: (name: Signal) => notifications.send(name),
    onSignal: (name: Signal, listener: () => void) => notifications.on(name, listener),
    tell: (...told) => notifications.tell(...told),
    onTold: (...heard) => notifications.onTold(...heard),
    revocations,
    async ping() {
      await pool.query('select 1').catch((error: unknown) => {
        throw translateError(error)
      })
    },
    async close() {
      await Promise.all([notifications.close(), revocations.close()])
      await Promise.all([requests.close(), handlers.close(), seeks.close()])
    },
  }
}
