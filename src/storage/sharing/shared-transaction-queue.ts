import type { CompiledQuery } from 'kysely'
import type { Scheduler } from '../../runtime/clock.ts'
import type {
  BeforeCommit,
  SavepointScope,
  ScopeOptions,
  SharedTransactions,
} from '../shared-transactions.ts'
import { transactionOver, type Engine } from '../query-runner.ts'
import { TransactionOver } from '../transaction-over.ts'
import type { Participant } from './participant.ts'
import { SharedSavepointScope, type ScopeHost } from './savepoint-scope.ts'
import { SingleStatements } from './single-statements.ts'
import { StatementBatch, type StatementBatchHost } from './statement-batch.ts'
import { newTransactionBatch, type PendingCommit, type TransactionBatch } from './transaction-batch.ts'
import { failureOf, type OpenTransaction } from './transaction-driver.ts'

/** Savepoints of one transaction. PostgreSQL is slow beyond 64; on SQLite the time of the transaction is the bound. */
const mostSavepoints: Readonly<Record<Engine, number>> = { sqlite: 240, postgres: 60 }
/** Milliseconds for which a shared transaction accepts new scopes. */
const longestBatch = 20
/** Milliseconds of work before the event loop gets a turn. */
const longestBurst = 2
/** The most statements in one batch. A larger batch delays the first scope's commit. */
const mostTogether = 32
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

interface Waiting<Note> {
  readonly scope: SharedSavepointScope<Note>
  /** Set if the scope waits for a batch of statements. */
  readonly participant: Participant<Note> | undefined
  readonly takeTurn: (transaction: TransactionBatch<Note>) => void
  readonly fail: (error: unknown) => void
}

/** Queues scopes and gives them turns in shared transactions. @see SharedTransactions */
export class SharedTransactionQueue<Note>
  implements SharedTransactions<Note>, ScopeHost<Note>, StatementBatchHost<Note>
{
  readonly #parts: SharedTransactionParts<Note>
  readonly #transactions = new Set<TransactionBatch<Note>>()
  #opening = 0
  readonly #queue: Waiting<Note>[] = []
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

  async takeTurn(scope: SharedSavepointScope<Note>): Promise<TransactionBatch<Note>> {
    const { alone, share, prepare } = scope.options
    if (!alone)
      return new Promise((takeTurn, fail) => this.#enqueue({ scope, participant: undefined, takeTurn, fail }))
    const driver = await this.#parts.open(share, scope.abandoned)
    const transaction = newTransactionBatch<Note>(driver, true, this.scheduler.elapsed())
    try {
      driver.savepoint()
      await prepare?.(transactionOver(this.#parts.engine, async (query) => driver.run(query)))
    } catch (error) {
      await driver.rollback()
      throw error
    }
    return transaction
  }

  mayBatch({ options }: SharedSavepointScope<Note>, query: CompiledQuery | undefined): boolean {
    return this.#parts.batches && !options.alone && (!query || this.#singles.expected(options.share, query))
  }

  joinStatements(scope: SharedSavepointScope<Note>, participant: Participant<Note>): void {
    const fail = (error: unknown): void =>
      participant.pending ? participant.pending.reject(error) : participant.fail(failureOf(false, error))
    this.#enqueue({ scope, participant, takeTurn: () => {}, fail })
  }

  noteEnd({ options }: SharedSavepointScope<Note>, single: boolean): void {
    if (this.#parts.batches) this.#singles.learn(options.share, single)
  }

  leave(scope: SharedSavepointScope<Note>): void {
    const place = this.#queue.findIndex((waiting) => waiting.scope === scope)
    if (place >= 0) this.#queue.splice(place, 1)[0]!.fail(new TransactionOver('rolled back'))
  }

  statementsDone(transaction: TransactionBatch<Note>): void {
    transaction.statements = undefined
    this.turnEnded(transaction)
  }

  turnEnded(transaction: TransactionBatch<Note>, pending?: PendingCommit<Note>): void {
    if (transaction.statements) return transaction.statements.endTurn(pending)
    if (pending) transaction.pending.push(pending)
    const now = this.scheduler.elapsed()
    if (!this.#acceptsMore(transaction, now)) return void this.#close(transaction)
    if (now - transaction.burst < longestBurst) return this.#next(transaction)
    this.scheduler.soon(() => {
      transaction.burst = this.scheduler.elapsed()
      this.#next(transaction)
    })
  }

  fail(transaction: TransactionBatch<Note>, error: unknown): void {
    this.#transactions.delete(transaction)
    transaction.statements?.failed(error)
    for (const { reject } of transaction.pending.splice(0)) reject(failureOf(transaction.alone, error))
    void transaction.driver.rollback(true).then(() => this.#openIfNeeded())
  }

  #enqueue(waiting: Waiting<Note>): void {
    this.#queue.push(waiting)
    const open = this.#transactions.size + this.#opening
    const fillsBatch =
      waiting.participant !== undefined && this.#queue.length >= mostTogether && open < this.#parts.most
    if (open === 0 || fillsBatch) void this.#open()
    else if (!this.#cancelMaxWait) this.#watchMaxWait()
  }

  #acceptsMore({ alone, savepoints, since, driver }: TransactionBatch<Note>, now: number): boolean {
    if (alone || savepoints >= mostSavepoints[this.engine]) return false
    return now - since < longestBatch && !driver.isContended()
  }

  #next(transaction: TransactionBatch<Note>, isLastChance = false): void {
    const waiting = this.#queue.shift()
    if (waiting) this.#startTurn(transaction, waiting)
    else if (isLastChance) void this.#close(transaction)
    // One turn of the event loop may bring more scopes.
    else this.scheduler.soon(() => this.#next(transaction, true))
  }

  #startTurn(transaction: TransactionBatch<Note>, waiting: Waiting<Note>): void {
    try {
      transaction.driver.savepoint()
    } catch (error) {
      this.#queue.unshift(waiting)
      return this.fail(transaction, error)
    }
    transaction.savepoints += 1
    if (waiting.participant) this.#startStatements(transaction, waiting.participant)
    else waiting.takeTurn(transaction)
  }

  /** Starts a batch of statements with `first` and the queued participants that fit it. */
  #startStatements(transaction: TransactionBatch<Note>, first: Participant<Note>): void {
    const participants = [first]
    // If the batch is broken up, each of them needs a savepoint of its own.
    const most = Math.min(mostTogether, mostSavepoints[this.engine] - transaction.savepoints)
    const { length } = this.#queue
    for (let index = 0; index < length; index += 1) {
      const waiting = this.#queue.shift()!
      const { participant } = waiting
      if (!participant || participant.separate || first.separate || participants.length >= most)
        this.#queue.push(waiting)
      else participants.push(participant)
    }
    const statements = new StatementBatch(this, transaction, participants)
    transaction.statements = statements
    statements.start()
  }

  /** Commits the pending work, or rolls back if there is none. */
  async #close(transaction: TransactionBatch<Note>): Promise<void> {
    this.#transactions.delete(transaction)
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

  async #open(): Promise<void> {
    this.#opening += 1
    let transaction: TransactionBatch<Note> | undefined
    try {
      const driver = await this.#parts.open(undefined, neverAborted)
      transaction = newTransactionBatch(driver, false, this.scheduler.elapsed())
    } catch (error) {
      // Also while another transaction serves scopes: a database that refuses connections is likely to fail that one too, and
      // an event that is given back early is handled early by another process.
      for (const { fail } of this.#queue.splice(0)) fail(error)
    }
    this.#opening -= 1
    if (!transaction) return
    this.#transactions.add(transaction)
    this.#next(transaction)
  }

  /** Opens a transaction if scopes wait and none is open. */
  #openIfNeeded(): void {
    if (this.#queue.length > 0 && this.#transactions.size + this.#opening === 0) void this.#open()
  }

  /** After `maxWait`, opens another transaction for the scopes that still wait. */
  #watchMaxWait(): void {
    this.#cancelMaxWait = this.scheduler.after(maxWait, () => {
      this.#cancelMaxWait = undefined
      if (this.#queue.length === 0) return
      if (this.#transactions.size + this.#opening < this.#parts.most) void this.#open()
      this.#watchMaxWait()
    })
  }
}

const neverAborted = new AbortController().signal
