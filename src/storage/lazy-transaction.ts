import type { CompiledQuery, QueryResult } from 'kysely'
import { insideTransaction } from '../runtime/call-context.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import type { CommonDatabase, RunLast, TransactionOptions, Tx, WritePriority } from './database.ts'
import { type Engine, transactionOver } from './query-runner.ts'
import type { TransactionDriver } from './sharing/transaction-driver.ts'
import { rejectBeyondTransaction } from './statement-kinds.ts'
import { mayRunAgain, StorageUnavailable } from './unavailable.ts'

/** A query on a transaction that has ended, by its commit or rollback or at its time limit. */
export class TransactionOver extends Error {
  /** Whether it reached its time limit, so that another attempt may succeed. */
  readonly outOfTime: boolean

  constructor(how: string) {
    super(
      how === 'out of time'
        ? 'the transaction reached its time limit and was rolled back: do slow work before the first use of tx'
        : `the transaction was ${how} already: await every query before it ends`,
    )
    this.name = 'TransactionOver'
    this.outOfTime = how === 'out of time'
  }
}

/** A statement that is sent together with the commit, on PostgreSQL in one round trip. If it fails, so does the commit. */
export class ClosingStatement {
  readonly query: CompiledQuery
  readonly #explain: (error: unknown) => unknown
  readonly #answer = Promise.withResolvers<QueryResult<unknown>>()

  /** @param explain returns the error to report if the statement fails with `error` */
  constructor(query: CompiledQuery, explain: (error: unknown) => unknown = (error) => error) {
    this.query = query
    this.#explain = explain
    // The commit fails with the same error.
    this.answered.catch(() => undefined)
  }

  get answered(): Promise<QueryResult<unknown>> {
    return this.#answer.promise
  }

  succeed(result: QueryResult<unknown>): void {
    this.#answer.resolve(result)
  }

  /** Returns the error to report. Of several errors, `answered` has the first. */
  fail(error: unknown): unknown {
    const explained = this.#explain(error)
    this.#answer.reject(explained)
    return explained
  }
}

interface LazyTransactionParts {
  engine: Engine
  /** Opens a transaction of the service. @throws StorageUnavailable */
  open: (priority: WritePriority) => Promise<TransactionDriver>
  /** Default: the system's. */
  clock?: Clock
}

type Ending = 'committing' | 'committed' | 'rolled back' | 'out of time'

const transactions = new WeakMap<Tx, LazyTransaction>()

/**
 * A transaction that begins at its first query, so that slow work before it holds no lock or connection. It is rolled back at its time
 * limit; on PostgreSQL, its statement is then canceled and its connection closed.
 */
export class LazyTransaction {
  readonly tx: Tx
  /** See RunLast. */
  readonly last: RunLast
  readonly #parts: LazyTransactionParts
  readonly #options: TransactionOptions
  /** Shared with the work within it: on SQLite, waiting there for the right to write would be a deadlock. */
  readonly #lock = { held: false }
  #closing: ClosingStatement | undefined
  #opening: Promise<TransactionDriver> | undefined
  #driver: TransactionDriver | undefined
  #cancelTimer: (() => void) | undefined
  #over: Ending | undefined
  #afterCommit: (() => Promise<void>)[] | undefined

  constructor(parts: LazyTransactionParts, options: TransactionOptions) {
    this.#parts = parts
    this.#options = options
    this.tx = transactionOver(parts.engine, (query) => this.#run(query, true))
    transactions.set(this.tx, this)
    this.last = (query) => {
      if (this.#closing) throw new Error('a transaction has one last statement')
      this.#closing = new ClosingStatement(query, (error) =>
        isCancelled(error) ? new TransactionOver('out of time') : error,
      )
      return this.#closing.answered
    }
  }

  /** Runs work that uses `tx`, so that waiting for a lock that this transaction holds is an error instead of a deadlock. */
  within<T>(work: () => T): T {
    // On PostgreSQL, other connections can write meanwhile.
    return this.#parts.engine === 'postgres' ? work() : insideTransaction(this.#lock, work)
  }

  async commit(): Promise<void> {
    if (this.#over) throw new TransactionOver(this.#over)
    if (!this.#opening && !this.#closing) {
      this.#over = 'committed'
      return
    }
    const driver = await (this.#opening ??= this.#open())
    if (this.#over) throw new TransactionOver(this.#over)
    this.#end('committing')
    try {
      await driver.commit(this.#closing, this.#timeLimit)
      this.#over = 'committed'
    } catch (error) {
      this.#closing?.fail(error)
      await driver.rollback(true)
      throw error
    }
    if (this.#afterCommit) await Promise.all(this.#afterCommit.map((work) => work()))
  }

  /** See the function of this name. */
  afterCommit(work: () => Promise<void>): void {
    ;(this.#afterCommit ??= []).push(work)
  }

  /** Safe to call at any time, also after a commit or a failure. */
  async rollback(): Promise<void> {
    this.#closing?.fail(new TransactionOver(this.#over ?? 'rolled back'))
    if (this.#over) return
    this.#end('rolled back')
    try {
      await (await this.#opening)?.rollback()
    } catch {
      // It never began. The caller of the first query has the error.
    }
  }

  /** See the function of this name. */
  async lend<T>(work: (lent: Tx) => Promise<T>): Promise<T> {
    const { engine } = this.#parts
    const running = new Set<Promise<unknown>>()
    let isOver = false
    const lent = transactionOver(engine, async (query) => {
      rejectBeyondTransaction(engine, query.sql)
      if (isOver) throw new TransactionOver('committed')
      const result = this.#run(query, false)
      running.add(result)
      try {
        return await result
      } finally {
        running.delete(result)
      }
    })
    try {
      const result = await work(lent)
      // Of statements that it did not wait for.
      await Promise.allSettled(running)
      isOver = true
      await this.#driver?.restore()
      return result
    } catch (error) {
      isOver = true
      if (running.size > 0) this.#expire()
      throw error
    }
  }

  get #timeLimit(): number {
    return this.#options.timeLimit ?? 10_000
  }

  async #run(query: CompiledQuery, own: boolean): Promise<QueryResult<unknown>> {
    if (this.#over) throw new TransactionOver(this.#over)
    // Not set by the opening: a later statement could overtake those that wait for it.
    const driver = (this.#driver ??= await (this.#opening ??= this.#open()))
    if (this.#over) throw new TransactionOver(this.#over)
    return driver.run(query, own)
  }

  async #open(): Promise<TransactionDriver> {
    const { open, clock = systemClock } = this.#parts
    const driver = await open(this.#options.priority ?? 'request')
    // What ended it meanwhile rolls back.
    if (this.#over) return driver
    this.#lock.held = true
    this.#cancelTimer = clock.after(this.#timeLimit, () => this.#expire())
    return driver
  }

  #expire(): void {
    this.#end('out of time')
    this.#closing?.fail(new TransactionOver('out of time'))
    this.#opening?.then(
      (driver) => driver.rollback(true),
      () => undefined,
    )
  }

  #end(how: Ending): void {
    this.#over = how
    this.#lock.held = false
    this.#cancelTimer?.()
  }
}

/** query_canceled: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const isCancelled = (error: unknown): boolean =>
  error instanceof StorageUnavailable && (error.cause as { code?: string }).code === '57014'

/**
 * Lends a transaction of the service to the user's code, as a `Tx` of its own: statements whose effect would outlive the transaction
 * are rejected, and other effects than rows end with `work`. If `work` rejects while its statement is running, the transaction ends.
 * @throws StatementRejected, from statements
 */
export async function lend<T>(tx: Tx, work: (lent: Tx) => Promise<T>): Promise<T> {
  return wholeOf(tx).lend(work)
}

/** Calls `work`, which must not reject, after the commit of a transaction of the service. The caller of the commit waits for it. */
export function afterCommit(tx: Tx, work: () => Promise<void>): void {
  wholeOf(tx).afterCommit(work)
}

function wholeOf(tx: Tx): LazyTransaction {
  const transaction = transactions.get(tx)
  if (!transaction) throw new Error('only for a whole transaction of the service')
  return transaction
}

export function lazyTransactions(
  parts: LazyTransactionParts,
): Pick<CommonDatabase, 'begin' | 'transaction' | 'inBackground'> {
  async function transaction<T>(
    work: (tx: Tx, last: RunLast) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const transaction = new LazyTransaction(parts, options)
      try {
        const result = await transaction.within(() => work(transaction.tx, transaction.last))
        await transaction.commit()
        return result
      } catch (error) {
        await transaction.rollback()
        if (attempt >= 3 || !mayRunAgain(error)) throw error
      }
    }
  }
  return {
    begin: (options = {}) => new LazyTransaction(parts, options),
    transaction,
    inBackground: (work) => transaction(work, { priority: 'work' }),
  }
}
