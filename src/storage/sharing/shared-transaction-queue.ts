import type { CompiledQuery } from 'kysely'
import type { Scheduler } from '../../runtime/clock.ts'
import type {
  BeforeCommit,
  SavepointScope,
  ScopeOptions,
  SharedTransactions,
} from '../shared-transactions.ts'
import { transactionOver, type Engine } from '../query-runner.ts'
import type { Participant } from './participant.ts'
import { SharedSavepointScope } from './savepoint-scope.ts'
import type { ScopeHost } from './scope-host.ts'
import { WaitingScopes, type WaitingScope } from './waiting-scopes.ts'
import { newScopedTransaction, type PendingCommit, type ScopedTransaction } from './scoped-transaction.ts'
import { SingleStatements } from './single-statements.ts'
import { StatementBatch, type StatementBatchHost } from './statement-batch.ts'
import { failureOf, type OpenTransaction } from './transaction-driver.ts'

/** Savepoints of one transaction. PostgreSQL is slow beyond 64; on SQLite the time of the transaction is the bound. */
const mostSavepoints: Readonly<Record<Engine, number>> = { sqlite: 240, postgres: 60 }
/** Milliseconds for which a shared transaction accepts new scopes. */
const acceptsFor = 20
/** Milliseconds of work before the event loop gets a turn. */
const longestBurst = 2
/** The most scopes in one batch of statements. A larger batch delays the first scope's commit. */
const mostBatched = 32
/** Milliseconds that a scope waits for its turn before another transaction is opened. */
const maxWait = 2

export interface SharedTransactionParts<Note> {
  engine: Engine
  open: OpenTransaction
  beforeCommit: BeforeCommit<Note>
  /** The most shared transactions at once that accept scopes or are being opened. */
  most: number
  /** Whether statements have a round trip, so that those of several scopes are sent together. */
  batches: boolean
  scheduler: Scheduler
}

/**
 * Queues scopes and gives them turns in shared transactions. An idle transaction takes the next scope from the queue, until it has
 * been open for `acceptsFor` or has enough savepoints; then it commits the work of the released scopes. @see SharedTransactions
 */
export class SharedTransactionQueue<Note>
  implements SharedTransactions<Note>, ScopeHost<Note>, StatementBatchHost<Note>
{
  readonly #parts: SharedTransactionParts<Note>
  /** Those that accept scopes. Neither those of a scope alone, nor those that are being committed. */
  readonly #accepting = new Set<ScopedTransaction<Note>>()
  #opening = 0
  readonly #waiting = new WaitingScopes<Note>()
  readonly #singles = new SingleStatements()
  #cancelMaxWait: (() => void) | undefined

  constructor(parts: SharedTransactionParts<Note>) {
    this.#parts = parts
  }

  get engine(): Engine {
    return this.#parts.engine
  }

  get scheduler(): Scheduler {
    return this.#parts.scheduler
  }

  begin(options: ScopeOptions): SavepointScope<Note> {
    return new SharedSavepointScope(this, options)
  }

  turnFor(scope: SharedSavepointScope<Note>): Promise<ScopedTransaction<Note>> {
    if (scope.options.alone) return this.#openAlone(scope)
    return new Promise((giveTurn, fail) => this.#enqueue({ scope, giveTurn, fail }))
  }

  mayBatch({ options }: SharedSavepointScope<Note>, query: CompiledQuery | undefined): boolean {
    return this.#parts.batches && !options.alone && (!query || this.#singles.expected(options.group, query))
  }

  joinBatch(scope: SharedSavepointScope<Note>, participant: Participant<Note>): void {
    this.#enqueue({ scope, participant })
  }

  noteEnd({ options }: SharedSavepointScope<Note>, single: boolean): void {
    if (this.#parts.batches) this.#singles.learn(options.group, single)
  }

  leaveQueue(scope: SharedSavepointScope<Note>): void {
    this.#waiting.remove(scope)
  }

  batchDone(transaction: ScopedTransaction<Note>): void {
    transaction.batch = undefined
    this.turnEnded(transaction)
  }

  turnEnded(transaction: ScopedTransaction<Note>, pending?: PendingCommit<Note>): void {
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

  fail(transaction: ScopedTransaction<Note>, error: unknown): void {
    this.#accepting.delete(transaction)
    transaction.batch?.transactionFailed(error)
    for (const { reject } of transaction.pending.splice(0)) reject(failureOf(transaction.alone, error))
    void transaction.driver.rollback(true).then(() => this.#openIfNeeded())
  }

  #enqueue(waiting: WaitingScope<Note>): void {
    this.#waiting.add(waiting)
    const open = this.#accepting.size + this.#opening
    const fillsBatch =
      waiting.participant !== undefined && this.#waiting.count >= mostBatched && open < this.#parts.most
    if (open === 0 || fillsBatch) void this.#open()
    else if (!this.#cancelMaxWait) this.#watchMaxWait()
  }

  #acceptsMore({ alone, savepoints, openedAt, driver }: ScopedTransaction<Note>, now: number): boolean {
    if (alone || savepoints >= mostSavepoints[this.engine]) return false
    return now - openedAt < acceptsFor && !driver.isContended()
  }

  /** Gives the turn to the next scope. Without one, the transaction is closed. */
  #next(transaction: ScopedTransaction<Note>, isLastChance = false): void {
    const waiting = this.#waiting.takeFirst()
    if (waiting) this.#startTurn(transaction, waiting)
    else if (isLastChance) void this.#close(transaction)
    // One turn of the event loop may bring more scopes.
    else this.scheduler.soon(() => this.#next(transaction, true))
  }

  #startTurn(transaction: ScopedTransaction<Note>, waiting: WaitingScope<Note>): void {
    try {
      transaction.driver.savepoint()
    } catch (error) {
      this.#waiting.putBack(waiting)
      return this.fail(transaction, error)
    }
    transaction.savepoints += 1
    if (waiting.participant) this.#startBatch(transaction, waiting.participant)
    else waiting.giveTurn(transaction)
  }

  /** Starts a batch of statements with `first` and the queued participants that fit it. */
  #startBatch(transaction: ScopedTransaction<Note>, first: Participant<Note>): void {
    // If the batch is broken up, each of them needs a savepoint of its own.
    const most = Math.min(mostBatched, mostSavepoints[this.engine] - transaction.savepoints)
    const participants = [first, ...this.#waiting.takeBatchable(first, most - 1)]
    const batch = new StatementBatch(this, transaction, participants)
    transaction.batch = batch
    batch.start()
  }

  /** Commits the pending work, or rolls back if there is none. */
  async #close(transaction: ScopedTransaction<Note>): Promise<void> {
    this.#accepting.delete(transaction)
    const { driver, pending } = transaction
    try {
      if (pending.length === 0) await driver.rollback()
      else {
        const tx = transactionOver(this.#parts.engine, async (query) => driver.run(query, true))
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

  async #openAlone({ options, abandoned }: SharedSavepointScope<Note>): Promise<ScopedTransaction<Note>> {
    const driver = await this.#parts.open(options.group, abandoned)
    const transaction = newScopedTransaction<Note>(driver, true, this.scheduler.elapsed())
    try {
      driver.savepoint()
      await options.prepare?.(transactionOver(this.#parts.engine, async (query) => driver.run(query)))
    } catch (error) {
      await driver.rollback()
      throw error
    }
    return transaction
  }

  async #open(): Promise<void> {
    this.#opening += 1
    let transaction: ScopedTransaction<Note> | undefined
    try {
      const driver = await this.#parts.open(undefined, neverAborted)
      transaction = newScopedTransaction(driver, false, this.scheduler.elapsed())
    } catch (error) {
      // Also while another transaction serves scopes: a database that refuses connections is likely to fail that one too, and
      // an event that is given back early is handled early by another process.
      this.#waiting.failAll(error)
    }
    this.#opening -= 1
    if (!transaction) return
    this.#accepting.add(transaction)
    this.#next(transaction)
  }

  /** Opens a transaction if scopes wait and none accepts them. */
  #openIfNeeded(): void {
    if (this.#waiting.count > 0 && this.#accepting.size + this.#opening === 0) void this.#open()
  }

  /** After `maxWait`, opens another transaction for the scopes that still wait. */
  #watchMaxWait(): void {
    this.#cancelMaxWait = this.scheduler.after(maxWait, () => {
      this.#cancelMaxWait = undefined
      if (this.#waiting.count === 0) return
      if (this.#accepting.size + this.#opening < this.#parts.most) void this.#open()
      this.#watchMaxWait()
    })
  }
}

const neverAborted = new AbortController().signal
