import type { QueryResult } from 'kysely'
import type { Pool, PoolClient, QueryConfig, Client, QueryResult as DriverResult } from 'pg'
import { systemClock, type Clock } from '../../../runtime/clock.ts'
import { ClosingStatement, TransactionOver } from '../../transaction-over.ts'
import type { LazyTransaction, RunLast, TransactionOptions, Tx } from '../../database.ts'
import { transactionOver } from '../../query-runner.ts'
import { StorageUnavailable, translated, translateError } from '../../unavailable.ts'
import { makeLendable } from '../../lent-transactions.ts'
import { toResult, toStatement, usersStatement } from '../driver/statement.ts'

/** A transaction that takes its connection at its first query. At its time limit, its statement is canceled, and the connection closed. */
export class PostgresTransaction implements LazyTransaction {
  readonly tx: Tx
  readonly last: RunLast
  #closing: ClosingStatement | undefined
  readonly #pool: Pool
  readonly #options: TransactionOptions
  #opening: Promise<PoolClient> | undefined
  readonly #clock: Clock
  #cancelTimer: (() => void) | undefined
  /** Whether the user's code ran statements in it. */
  #wasLent = false
  /** Set if the server is unavailable: then the connection is closed, because another one may lead to an available server. */
  #unavailable: StorageUnavailable | undefined
  #over: 'committing' | 'committed' | 'rolled back' | 'out of time' | undefined

  constructor(pool: Pool, options: TransactionOptions, clock: Clock = systemClock) {
    this.#pool = pool
    this.#clock = clock
    this.#options = options
    this.tx = transactionOver('postgres', (query) => this.#run(toStatement(query)))
    makeLendable(this.tx, {
      engine: 'postgres',
      run: (query) => {
        this.#wasLent = true
        return this.#run(usersStatement(query))
      },
      restore: async () => {
        const client = await this.#opening
        if (client) await translated(client.query(sessionReset(client).join('; ')))
      },
      abandon: () => {
        this.#cancelTimer?.()
        void this.#opening?.then((client) => this.#expire(client))
        this.#over = 'out of time'
      },
    })
    this.last = (query) => {
      if (this.#closing) throw new Error('a transaction has one last statement')
      this.#closing = new ClosingStatement(query, (error) =>
        isCancelled(error) ? new TransactionOver('out of time') : error,
      )
      return this.#closing.answered
    }
  }

  /** Other connections can write meanwhile, so there is no deadlock to guard against. */
  within<T>(work: () => T): T {
    return work()
  }

  async commit(): Promise<void> {
    if (this.#over) throw new TransactionOver(this.#over)
    const closing = this.#closing
    if (!this.#opening && !closing) {
      this.#over = 'committed'
      return
    }
    const client = await (this.#opening ??= this.#open())
    if (this.#over) throw new TransactionOver(this.#over)
    this.#over = 'committing'
    this.#cancelTimer?.()
    try {
      await commitOn(client, { text: 'commit' }, closing, () => {
        // COMMIT is sent behind it, and closing the connection would not take that back. So the server bounds its time.
        client.query(`set local statement_timeout = ${this.#timeLimit}`, () => undefined)
        return client.query(toStatement(closing!.query))
      })
      this.#over = 'committed'
      client.release()
    } catch (error) {
      client.release(true)
      throw translateError(error)
    }
  }

  async rollback(): Promise<void> {
    this.#closing?.fail(new TransactionOver(this.#over ?? 'rolled back'))
    if (this.#over) return
    this.#over = 'rolled back'
    this.#cancelTimer?.()
    let client: PoolClient | undefined
    try {
      client = await this.#opening
      // The opening, which may have ended just now, sets it.
      this.#cancelTimer?.()
      await client?.query(this.#wasLent ? `rollback; ${releaseLocks}` : 'rollback')
      if (client) client.release(this.#unavailable !== undefined)
    } catch {
      // It never began, or its connection broke: the server rolls back, and the caller has seen the error.
      if (client) client.release(true)
    }
  }

  get #timeLimit(): number {
    return this.#options.timeLimit ?? 10_000
  }

  /** Closing the connection cancels its statement and makes the server roll back. */
  #expire(client: PoolClient): void {
    this.#over = 'out of time'
    client.release(true)
  }

  async #run(statement: QueryConfig): Promise<QueryResult<unknown>> {
    if (this.#over) throw new TransactionOver(this.#over)
    const client = await (this.#opening ??= this.#open())
    if (this.#over) throw new TransactionOver(this.#over)
    try {
      return toResult(await client.query(statement))
    } catch (error) {
      const failure = translateError(error)
      if (failure instanceof StorageUnavailable) this.#unavailable ??= failure
      // Statements that were sent behind the failed one get only the error that the transaction is aborted.
      throw isAborted(error) ? (this.#unavailable ?? failure) : failure
    }
  }

  async #open(): Promise<PoolClient> {
    let client: PoolClient | undefined
    try {
      const opened = (client = await this.#pool.connect())
      // Sent together with the first statement, which fails if this fails.
      opened.query('begin', () => undefined)
      this.#cancelTimer = this.#clock.after(this.#timeLimit, () => this.#expire(opened))
      return opened
    } catch (error) {
      // A connection that broke at its first statement is still checked out of the pool.
      client?.release(true)
      throw translateError(error)
    }
  }
}

/** in_failed_sql_transaction */
const isAborted = (error: unknown): boolean => (error as { code?: string }).code === '25P02'

/** query_canceled: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const isCancelled = (error: unknown): boolean =>
  error instanceof StorageUnavailable && (error.cause as { code?: string }).code === '57014'

/**
 * Commits in one round trip with the closing statement, if any.
 * @param send sends the closing statement
 * @throws the error of the closing statement, or of the commit
 */
export async function commitOn(
  client: Client,
  commit: QueryConfig,
  closing?: ClosingStatement,
  send?: () => Promise<DriverResult>,
): Promise<void> {
  const failure = closing && settle(closing, send!())
  failure?.catch(() => undefined)
  const { command } = await client.query(commit)
  // If a statement of the transaction failed, the server answers COMMIT with ROLLBACK instead of an error.
  if (command === 'COMMIT') return
  await failure
  throw new Error('a statement in the transaction failed, so it was rolled back')
}

async function settle(closing: ClosingStatement, answer: Promise<DriverResult>): Promise<void> {
  try {
    closing.succeed(toResult(await answer))
  } catch (error) {
    throw closing.fail(translateError(error))
  }
}

// A type only: loading the class would load the driver, which migrations of SQLite do not need.
import type { SessionClient } from '../driver/session-client.ts'

/** A rollback undoes the settings and the temporary tables of its transaction, but not its session's locks. */
export const releaseLocks = 'select pg_advisory_unlock_all()'

/**
 * The statements that end what the user's code changed in its session. As DISCARD ALL, without the plans and statements that the service
 * prepared, and within the transaction: behind a pooler, the session of the next one may be another.
 */
export function sessionReset(client: PoolClient): string[] {
  const { settings = [] } = client as Partial<Pick<SessionClient, 'settings'>>
  return [
    'set session authorization default',
    'reset role',
    'reset all',
    'close all',
    'discard temp',
    'unlisten *',
    releaseLocks,
    ...settings,
  ]
}

/** Runs `work` in a transaction on a connection of the pool, without the limits and the retries of `Database.transaction`. */
export async function poolTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  begin: (client: PoolClient) => Promise<unknown> = (client) => client.query('begin'),
): Promise<T> {
  const client = await pool.connect()
  try {
    await begin(client)
    const result = await work(client)
    await client.query('commit')
    client.release()
    return result
  } catch (error) {
    // Closing the connection makes the server roll back.
    client.release(true)
    throw error
  }
}
