import type { CompiledQuery } from 'kysely'
import type { Scheduler } from '../../runtime/clock.ts'
import type { Tx } from '../database.ts'
import { transactionOver, type Engine } from '../query-runner.ts'
import { kindOf } from '../statement-kinds.ts'
import type { ClosingStatement } from '../lazy-transaction.ts'
import { type PendingCommit, type SavepointScope, type ScopeOptions, SharedScope } from './savepoint-scope.ts'
import { StatementBatch } from './statement-batch.ts'
import { failureOf, type OpenTransaction, type TransactionDriver } from './transaction-driver.ts'

/** Savepoints of one transaction. PostgreSQL is slow beyond 64; on SQLite the time of the transaction is the bound. */
const mostSavepoints: Readonly<Record<Engine, number>> = { sqlite: 240, postgres: 60 }
/** Milliseconds for which a shared transaction accepts new scopes. */
const acceptsFor = 20
/** Milliseconds of work before the event loop gets a turn. */
const longestBurst = 2
/** The most scopes in one batch of statements. A larger batch delays the first scope's commit. */
const mostBatched = 32

/**
 * An open transaction, in which scopes have their turns one after the other. One turn at a time: that of a scope, or of a batch of
 * statements, which gives turns to its scopes if it is broken up. Times are those of `Scheduler.elapsed`.
 */
export class ScopedTransaction<Note> {
  readonly driver: TransactionDriver
  /** Whether it belongs to one scope only. */
  readonly alone: boolean
  /** The released scopes. */
  readonly pending: PendingCommit<Note>[] = []
  readonly openedAt: number
  /** When the event loop last had a turn. */
  yieldedAt: number
  /** Savepoints so far. */
  savepoints = 0
  /** The scope, or the batch, that has the turn. */
  scope: SharedScope<Note> | undefined
  batch: StatementBatch<Note> | undefined
  hasFailed = false

  constructor(driver: TransactionDriver, alone: boolean, now: number) {
    this.driver = driver
    this.alone = alone
    this.openedAt = this.yieldedAt = now
  }
}

/**
 * Runs the last statements before a commit, for all scopes of the transaction, given the notes of their releases. Returns the
 * final statement if that is to be sent together with the commit.
 * @throws when the transaction must not commit.
 */
export type BeforeCommit<Note> = (tx: Tx, notes: readonly Note[]) => Promise<ClosingStatement | undefined>

/** Transactions that scopes share. A scope that fails does not affect the others. */
export type SharedTransactions<Note> = Pick<SharedTransactionQueue<Note>, 'begin'>

interface SharedTransactionParts<Note> {
  engine: Engine
  open: OpenTransaction
  beforeCommit: BeforeCommit<Note>
  scheduler: Scheduler
}

/**
 * Queues scopes and gives them turns in a shared transaction: it takes one after the other from the queue, until it has been open for
 * `acceptsFor` or has enough savepoints; then it commits the work of the released scopes, and the next one is opened. One at a time:
 * the locks of a released scope last until the commit, so two transactions that take turns could wait for each other, although each
 * scope locks a single row.
 */
export class SharedTransactionQueue<Note> {
  readonly #parts: SharedTransactionParts<Note>
  readonly engine: Engine
  readonly scheduler: Scheduler
  /** Whether statements have a round trip, so that those of several scopes are sent together. */
  readonly #batches: boolean
  /** The transaction that accepts scopes, or is being opened for them. */
  #serving: ScopedTransaction<Note> | 'opening' | undefined
  /** Scopes without a transaction, in the order in which they came. */
  #waiting: SharedScope<Note>[] = []
  readonly #singles = new SingleStatements()

  constructor(parts: SharedTransactionParts<Note>) {
    this.#parts = parts
    this.engine = parts.engine
    this.scheduler = parts.scheduler
    this.#batches = parts.engine === 'postgres'
  }

  begin(options: ScopeOptions): SavepointScope<Note> {
    return new SharedScope(this, options)
  }

  /** Whether the scope is expected to consist of only this statement, or of none. */
  mayBatch({ options }: SharedScope<Note>, query: CompiledQuery | undefined): boolean {
    return this.#batches && !options.alone && (!query || this.#singles.expected(options.group, query))
  }

  /** Records that a scope ended, and whether it committed with at most one statement. */
  noteEnd({ options }: SharedScope<Note>, single: boolean): void {
    if (this.#batches) this.#singles.learn(options.group, single)
  }

  /** The scope gets a turn, or takes part in a batch, when it is the first one. */
  enqueue(scope: SharedScope<Note>): void {
    if (scope.options.alone) return void this.#openAlone(scope)
    this.#waiting.push(scope)
    this.#openIfNeeded()
  }

  /** Removes a scope that was rolled back, if it waits here. */
  remove(scope: SharedScope<Note>): void {
    const place = this.#waiting.indexOf(scope)
    if (place >= 0) this.#waiting.splice(place, 1)
  }

  /** Ends the turn of a scope; `pending` if its work waits for the commit. */
  turnEnded(transaction: ScopedTransaction<Note>, pending?: PendingCommit<Note>): void {
    if (transaction.hasFailed) return
    transaction.scope = undefined
    if (transaction.batch) return transaction.batch.turnEnded(pending)
    if (pending) transaction.pending.push(pending)
    const now = this.scheduler.elapsed()
    if (!this.#acceptsMore(transaction, now)) return void this.#close(transaction)
    if (now - transaction.yieldedAt < longestBurst) return this.#next(transaction)
    this.scheduler.soon(() => {
      transaction.yieldedAt = this.scheduler.elapsed()
      this.#next(transaction)
    })
  }

  /** All scopes of a batch have ended; `transaction.pending` has those to be committed. */
  batchDone(transaction: ScopedTransaction<Note>): void {
    transaction.batch = undefined
    this.turnEnded(transaction)
  }

  /** Rolls back the scope that has the turn. */
  undo(transaction: ScopedTransaction<Note>): void {
    if (transaction.hasFailed) return
    try {
      transaction.driver.rollbackToSavepoint()
    } catch (error) {
      return this.fail(transaction, error)
    }
    this.turnEnded(transaction)
  }

  /** Ends a transaction that cannot continue. */
  fail(transaction: ScopedTransaction<Note>, error: unknown): void {
    if (transaction.hasFailed) return
    transaction.hasFailed = true
    this.#acceptNoMore(transaction)
    transaction.batch?.transactionFailed(error)
    for (const { reject } of transaction.pending.splice(0)) reject(failureOf(transaction.alone, error))
    void transaction.driver.rollback(true).then(() => this.#openIfNeeded())
  }

  #acceptsMore({ alone, savepoints, openedAt, driver }: ScopedTransaction<Note>, now: number): boolean {
    if (alone || savepoints >= mostSavepoints[this.engine]) return false
    return now - openedAt < acceptsFor && !driver.isContended()
  }

  #acceptNoMore(transaction: ScopedTransaction<Note>): void {
    if (this.#serving === transaction) this.#serving = undefined
  }

  /** Gives the turn to the next scope. Without one, the transaction is closed. */
  #next(transaction: ScopedTransaction<Note>, isLastChance = false): void {
    if (transaction.hasFailed) return
    if (this.#waiting.length > 0) this.#startTurn(transaction)
    else if (isLastChance) void this.#close(transaction)
    // One turn of the event loop may bring more scopes.
    else this.scheduler.soon(() => this.#next(transaction, true))
  }

  #startTurn(transaction: ScopedTransaction<Note>): void {
    try {
      transaction.driver.savepoint()
    } catch (error) {
      return this.fail(transaction, error)
    }
    transaction.savepoints += 1
    const scope = this.#waiting.shift()!
    if (scope.isBatched) this.#startBatch(transaction, scope)
    else scope.giveTurn(transaction)
  }

  /** Starts a batch of statements with `first` and the queued scopes that fit it. */
  #startBatch(transaction: ScopedTransaction<Note>, first: SharedScope<Note>): void {
    // If the batch is broken up, each of them needs a savepoint of its own.
    const most = Math.min(mostBatched, mostSavepoints[this.engine] - transaction.savepoints)
    const scopes = [first]
    if (!first.needsTurn)
      this.#waiting = this.#waiting.filter((scope) => {
        const fits = scope.isBatched && !scope.needsTurn && scopes.length < most
        if (fits) scopes.push(scope)
        return !fits
      })
    transaction.batch = new StatementBatch(this, transaction, scopes)
    transaction.batch.start()
  }

  /** Commits the pending work, or rolls back if there is none. */
  async #close(transaction: ScopedTransaction<Note>): Promise<void> {
    this.#acceptNoMore(transaction)
    const { driver, pending } = transaction
    try {
      if (pending.length === 0) await driver.rollback()
      else {
        const tx = transactionOver(this.engine, async (query) => driver.run(query, true))
        const notes = pending.map(({ note }) => note)
        await driver.commit(await this.#parts.beforeCommit(tx, notes))
      }
      for (const { resolve } of pending) resolve()
    } catch (error) {
      await driver.rollback()
      for (const { reject } of pending) reject(failureOf(transaction.alone, error))
    }
    this.#openIfNeeded()
  }

  async #openAlone(scope: SharedScope<Note>): Promise<void> {
    const { options, abandoned } = scope
    try {
      const driver = await this.#parts.open(options.group, abandoned)
      try {
        abandoned.throwIfAborted()
        driver.savepoint()
        await options.prepare?.(transactionOver(this.engine, async (query) => driver.run(query)))
        abandoned.throwIfAborted()
      } catch (error) {
        await driver.rollback()
        throw error
      }
      scope.giveTurn(this.#newTransaction(driver, true))
    } catch (error) {
      scope.fail(failureOf(true, error))
    }
  }

  #newTransaction(driver: TransactionDriver, alone: boolean): ScopedTransaction<Note> {
    const transaction = new ScopedTransaction<Note>(driver, alone, this.scheduler.elapsed())
    // A handler may work for long before it uses its transaction again: its event would wait for that.
    driver.onLost?.((error) => {
      const { scope } = transaction
      this.fail(transaction, error)
      scope?.fail(failureOf(true, error))
    })
    return transaction
  }

  /** Opens a transaction if scopes wait and none accepts them. */
  #openIfNeeded(): void {
    if (this.#waiting.length === 0 || this.#serving) return
    this.#serving = 'opening'
    this.#parts.open(undefined, neverAborted).then(
      (driver) => {
        const transaction = this.#newTransaction(driver, false)
        this.#serving = transaction
        this.#next(transaction)
      },
      (error: unknown) => {
        this.#serving = undefined
        for (const scope of this.#waiting.splice(0)) scope.fail(failureOf(false, error))
      },
    )
  }
}

const neverAborted = new AbortController().signal

/** After this many scopes in a row with a single statement, the next one is expected to be the same. */
const expectedFrom = 4
/** Bound of the map; a configuration has far fewer handlers. */
const mostGroups = 10_000

/** Records, for each group of scopes, whether its latest scopes consisted of a single statement. */
export class SingleStatements {
  readonly #inARow = new Map<string, number>()

  /**
   * Whether a scope that begins with this statement is likely to have no other. Only for statements that return no rows: a
   * statement that must run again is compared by its row count. Returned rows could differ unnoticed.
   */
  expected(group: string, { sql }: CompiledQuery): boolean {
    return (this.#inARow.get(group) ?? 0) >= expectedFrom && kindOf('postgres', sql).returnsNoRows
  }

  learn(group: string, single: boolean): void {
    if (this.#inARow.size >= mostGroups && !this.#inARow.has(group)) this.#inARow.clear()
    this.#inARow.set(group, single ? (this.#inARow.get(group) ?? 0) + 1 : 0)
  }
}
