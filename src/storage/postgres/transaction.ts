import type { CompiledQuery, QueryResult } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { systemClock, type Clock } from '../../runtime/clock.ts'
import type { LazyTransaction, RunLast, TransactionOptions, Tx } from '../database.ts'
import { LastStatement } from '../last-statement.ts'
import { transactionOver } from '../query-runner.ts'
import { TransactionOver } from '../transaction-over.ts'
import { StorageUnavailable, translateError } from '../unavailable.ts'
import { toStatement } from './prepared.ts'
import { toResult } from './result.ts'

/** A transaction that takes its connection at its first query, and loses it at its time limit. */
export class PostgresTransaction implements LazyTransaction {
  readonly tx: Tx
  readonly last: RunLast
  #last: LastStatement | undefined
  readonly #pool: Pool
  readonly #options: TransactionOptions
  #opening: Promise<PoolClient> | undefined
  readonly #clock: Clock
  #cancelTimer: (() => void) | undefined
  /** Why the server cannot do it. Another connection may lead to one that can. */
  #unavailable: StorageUnavailable | undefined
  #over: 'committed' | 'rolled back' | 'out of time' | undefined

  constructor(pool: Pool, options: TransactionOptions, clock: Clock = systemClock) {
    this.#pool = pool
    this.#clock = clock
    this.#options = options
    this.tx = transactionOver('postgres', (query) => this.#run(query))
    this.last = (query) => {
      if (this.#last) throw new Error('a transaction has one last statement')
      return (this.#last = new LastStatement(query)).answered
    }
  }

  get begun(): boolean {
    return this.#opening !== undefined
  }

  /** Connections are many here: nothing to guard against. */
  within<T>(work: () => T): T {
    return work()
  }

  async commit(): Promise<void> {
    if (this.#over) throw new TransactionOver(this.#over)
    const last = this.#last
    if (!this.#opening && !last) {
      this.#over = 'committed'
      return
    }
    const client = await (this.#opening ??= this.#open())
    if (this.#over) throw new TransactionOver(this.#over)
    this.#over = 'committed'
    this.#cancelTimer?.()
    try {
      // A transaction in which a statement failed answers ROLLBACK to COMMIT, without an error.
      const [failure, { command }] = await Promise.all([
        last && this.#runLast(client, last),
        client.query('commit'),
      ])
      if (command !== 'COMMIT')
        throw failure ?? new Error('a statement in the transaction failed, so it was rolled back')
      client.release()
    } catch (error) {
      client.release(true)
      throw translateError(error)
    }
  }

  async rollback(): Promise<void> {
    this.#last?.fail(new TransactionOver(this.#over ?? 'rolled back'))
    if (this.#over) return
    this.#over = 'rolled back'
    this.#cancelTimer?.()
    let client: PoolClient | undefined
    try {
      client = await this.#opening
      // Set by the opening, which may have ended only now.
      this.#cancelTimer?.()
      await client?.query('rollback')
      if (client) client.release(this.#unavailable !== undefined)
    } catch {
      // It never began, or its connection broke: the server rolls back by itself, and the error was seen before.
      if (client) client.release(true)
    }
  }

  /**
   * Resolves with the error when it failed. The commit is on its way behind it, which closing the connection would not take
   * back: the server bounds its time, so that whoever waits is told what became of both.
   */
  async #runLast(client: PoolClient, last: LastStatement): Promise<Error | undefined> {
    client.query(`set local statement_timeout = ${this.#timeLimit}`, () => undefined)
    try {
      last.answer(toResult(await client.query(toStatement(last.query))))
      return undefined
    } catch (error) {
      const failure = isCancelled(error)
        ? new TransactionOver('out of time')
        : (translateError(error) as Error)
      last.fail(failure)
      return failure
    }
  }

  get #timeLimit(): number {
    return this.#options.timeLimit ?? 10_000
  }

  async #run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    if (this.#over) throw new TransactionOver(this.#over)
    const client = await (this.#opening ??= this.#open())
    if (this.#over) throw new TransactionOver(this.#over)
    try {
      return toResult(await client.query(toStatement(query)))
    } catch (error) {
      const failure = translateError(error)
      if (failure instanceof StorageUnavailable) this.#unavailable ??= failure
      // Statements that went out behind the one that failed are told only that it did.
      throw isAborted(error) ? (this.#unavailable ?? failure) : failure
    }
  }

  async #open(): Promise<PoolClient> {
    let client: PoolClient | undefined
    try {
      const opened = (client = await this.#pool.connect())
      // Goes out together with the first statement, which fails if this does.
      opened.query('begin', () => undefined)
      this.#cancelTimer = this.#clock.after(this.#timeLimit, () => {
        this.#over = 'out of time'
        // Closing the connection makes the server roll back, whatever statement is running.
        opened.release(true)
      })
      return opened
    } catch (error) {
      // A connection that broke at its first statement is still checked out: kept, it would be missing for ever.
      client?.release(true)
      throw translateError(error)
    }
  }
}

/** in_failed_sql_transaction */
const isAborted = (error: unknown): boolean => (error as { code?: string }).code === '25P02'

/** query_canceled: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const isCancelled = (error: unknown): boolean => (error as { code?: string }).code === '57014'
