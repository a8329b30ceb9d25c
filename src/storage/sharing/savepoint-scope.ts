import type { CompiledQuery, QueryResult } from 'kysely'
import type { Tx } from '../database.ts'
import { insideTransaction, type HandlerCall } from '../../runtime/call-context.ts'
import { transactionOver } from '../query-runner.ts'
import { rejectBeyondTransaction } from '../statement-kinds.ts'
import { TransactionOver } from '../lazy-transaction.ts'
import { StorageUnavailable } from '../unavailable.ts'
import type { ScopedTransaction, SharedTransactionQueue } from './shared-transaction-queue.ts'
import type { StatementBatch } from './statement-batch.ts'
import { isConflict } from './transaction-driver.ts'

/**
 * Why a scope ended. With `turn limit` and `conflict`, the same work may succeed alone: it took too long for a shared transaction, or
 * it waited too long for a lock there. With `connection lost`, the database is unavailable, or was for a moment.
 */
export type EndedBy = 'time limit' | 'turn limit' | 'conflict' | 'connection lost'

export interface ScopeOptions {
  /** Whether the scope gets a transaction of its own. */
  alone: boolean
  /** Milliseconds from the start of the scope's turn until it is rolled back. */
  timeLimit: number
  /** A shorter limit for scopes that share a transaction, because others wait for their turns. */
  turnLimit: number
  /** Called when the scope was rolled back for another reason than a call of `rollback`. */
  onEnd: (by: EndedBy) => void
  /**
   * Scopes of the same kind of work. On PostgreSQL, groups share a limited number of connections: while few are free, a group that has
   * a connection waits for groups that have none. Whether a scope will have a single statement is also predicted by group.
   */
  group: string
  /** For a scope that is alone: called within its transaction, before its first statement. */
  prepare?: (tx: Tx) => void | Promise<void>
}

/**
 * `new`: no statement was sent. `queued`: it waits for a turn of its own. `batched`: it takes part in a batch of statements, which may
 * wait in the same queue. `open`: it has the transaction to itself, within a savepoint. `ended`: see Ending.
 */
type State = 'new' | 'queued' | 'batched' | 'open' | 'ended'
/** `committed`: it was released. Its commit follows, and may fail. */
type Ending = 'committed' | 'rolled back' | 'out of time'

/** The work of a released scope, which waits for the commit. */
export interface PendingCommit<Note> {
  readonly note: Note
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** A scope as the work within it sees it. */
export type SavepointScope<Note> = Pick<
  SharedScope<Note>,
  'tx' | 'released' | 'isWaiting' | 'waited' | 'took' | 'within' | 'release' | 'rollback'
>

/**
 * A unit of work in a savepoint of a transaction. It begins at its first query, so that slow work before that holds nothing. It
 * can be rolled back alone, and may be committed together with other scopes.
 */
export class SharedScope<Note> {
  readonly tx: Tx
  readonly options: ScopeOptions
  /** The statement with which it takes part in a batch, and its result, when the caller has received it. */
  query: CompiledQuery | undefined
  reported: QueryResult<unknown> | undefined
  /** Set when it was released. */
  pending: PendingCommit<Note> | undefined
  readonly #queue: SharedTransactionQueue<Note>
  /** For SQLite: held while the scope has the turn, so that waiting for the write lock within it fails instead of deadlocking. */
  readonly #lock = { held: false }
  #state: State = 'new'
  #ending: Ending | undefined
  /** Why its transaction failed, or could not be opened. */
  #failure: Error | undefined
  #transaction: ScopedTransaction<Note> | undefined
  #turn: PromiseWithResolvers<void> | undefined
  #batch: StatementBatch<Note> | undefined
  readonly #answer = Promise.withResolvers<QueryResult<unknown>>()
  #abandoned: AbortController | undefined
  #cancelTimer: (() => void) | undefined
  /** Times of `Scheduler.elapsed`. */
  #queuedAt: number | undefined
  #beganAt: number | undefined
  #statements = 0
  /** Statements that wait for a turn or run. */
  #unsettled = 0
  /** Statements that were sent and have no answer. */
  #running = 0
  #answered = false
  #onIdle: (() => void) | undefined

  constructor(queue: SharedTransactionQueue<Note>, options: ScopeOptions) {
    this.#queue = queue
    this.options = options
    this.tx = transactionOver(queue.engine, (query) => this.#run(query))
  }

  /** Whether it ended by `release`: then only a failure of its commit undoes it. */
  get released(): boolean {
    return this.#ending === 'committed'
  }

  /** Whether it waits for its turn while other scopes use the database. */
  get isWaiting(): boolean {
    return this.#queuedAt !== undefined && this.#beganAt === undefined
  }

  /** Milliseconds that it has waited for its turn. */
  get waited(): number {
    if (this.#queuedAt === undefined) return 0
    return (this.#beganAt ?? this.#queue.scheduler.elapsed()) - this.#queuedAt
  }

  /** Milliseconds from the start of its turn. */
  get took(): number {
    return this.#beganAt === undefined ? 0 : this.#queue.scheduler.elapsed() - this.#beganAt
  }

  /** Whether it takes part in a batch, with the only statement that it is expected to have, or without any. */
  get isBatched(): boolean {
    return this.#state === 'batched' || this.pending !== undefined
  }

  /** Whether it was rolled back: none of its work is to be committed. */
  get hasLeft(): boolean {
    return this.#state === 'ended' && !this.released
  }

  /** Whether it has another statement than that of its batch, which must be broken up. */
  get needsTurn(): boolean {
    return this.#turn !== undefined
  }

  /** Aborted when the scope ends before its turn. */
  get abandoned(): AbortSignal {
    return (this.#abandoned ??= new AbortController()).signal
  }

  /**
   * Runs work that uses `tx`, so that waiting for a lock that this scope holds is an error instead of a deadlock. `call` is given if a
   * handler does the work.
   */
  within<T>(work: () => T, call?: HandlerCall): T {
    return insideTransaction(this.#lock, work, call)
  }

  /**
   * Ends the scope; its work waits for the commit. `committed` rejects with SharedCommitFailed if a transaction that it
   * shared failed, whichever scope caused that.
   */
  async release(note: Note): Promise<{ committed: Promise<void> }> {
    if (this.#state === 'new' && this.#queue.mayBatch(this, undefined)) this.#joinBatch(undefined)
    if (this.#state !== 'batched') await this.#ownTurn()
    // Also for statements that are sent meanwhile.
    while (this.#unsettled > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    this.#throwIfOver()
    const transaction = this.#transaction
    transaction?.driver.releaseSavepoint(this.#answered)
    this.#finish('committed')
    const committed = new Promise<void>((resolve, reject) => {
      const pending = (this.pending = { note, resolve, reject })
      if (transaction) this.#queue.turnEnded(transaction, pending)
      else this.#batch?.released()
    })
    return { committed }
  }

  /** Rolls the scope back. Safe to call at any time, also after `release` or a failure: then it does nothing. */
  async rollback(): Promise<void> {
    if (this.#state !== 'ended') this.#end('rolled back')
  }

  /** Its batch, or its turn, has begun. */
  begin(batch?: StatementBatch<Note>): void {
    this.#batch = batch
    if (this.#state === 'ended') return
    this.#beganAt = this.#queue.scheduler.elapsed()
    this.#cancelTimer = this.#queue.scheduler.after(this.#limit, () => this.#expire())
  }

  /** From now on it has the transaction to itself, within a savepoint of its own. */
  giveTurn(transaction: ScopedTransaction<Note>): void {
    this.#state = 'open'
    this.#transaction = transaction
    transaction.scope = this
    this.#lock.held = true
    if (this.#beganAt === undefined) this.begin()
    this.#turn?.resolve()
  }

  /** Answers the statement with which it takes part in a batch. */
  report(result: QueryResult<unknown>): void {
    this.reported = result
    this.#answer.resolve(result)
  }

  rejectStatement(error: unknown): void {
    this.#answer.reject(error)
  }

  /** Its transaction failed, or could not be opened. */
  fail(error: Error): void {
    if (this.pending) return this.pending.reject(error)
    this.#failure = error
    this.#cancelTimer?.()
    this.#turn?.reject(error)
    if (this.query && !this.reported) this.#answer.reject(error)
    // Its work may not use the transaction for a while.
    if (this.#state !== 'ended' && error instanceof StorageUnavailable) this.options.onEnd('connection lost')
  }

  async #run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    rejectBeyondTransaction(this.#queue.engine, query.sql)
    this.#throwIfOver()
    this.#statements += 1
    this.#unsettled += 1
    try {
      if (this.#state === 'new' && this.#queue.mayBatch(this, query)) {
        this.#joinBatch(query)
        return await this.#untilAnswered(this.#answer.promise)
      }
      await this.#ownTurn()
      // It may have ended since its turn began. The statement would run in the savepoint of another scope.
      this.#throwIfOver()
      const result = this.#transaction!.driver.run(query)
      return result instanceof Promise ? await this.#untilAnswered(result) : result
    } catch (error) {
      if (this.#transaction && !this.options.alone && isConflict(error)) this.#leaveShare()
      throw error
    } finally {
      this.#unsettled -= 1
      if (this.#unsettled === 0) this.#onIdle?.()
    }
  }

  async #untilAnswered(result: Promise<QueryResult<unknown>>): Promise<QueryResult<unknown>> {
    this.#running += 1
    try {
      return await result
    } finally {
      this.#answered = true
      this.#running -= 1
    }
  }

  #joinBatch(query: CompiledQuery | undefined): void {
    this.#state = 'batched'
    this.query = query
    this.#queuedAt = this.#queue.scheduler.elapsed()
    this.#queue.enqueue(this)
  }

  /** Resolves when the scope is open. If its statement was batched, the batch is broken up. */
  async #ownTurn(): Promise<void> {
    this.#throwIfOver()
    if (this.#state === 'open') return
    if (!this.#turn) {
      this.#turn = Promise.withResolvers<void>()
      if (this.#state === 'batched') this.#batch?.breakUp()
      else {
        this.#state = 'queued'
        this.#queuedAt = this.#queue.scheduler.elapsed()
        this.#queue.enqueue(this)
      }
    }
    await this.#turn.promise
  }

  get #limit(): number {
    const { alone, timeLimit, turnLimit } = this.options
    return alone ? timeLimit : Math.min(timeLimit, turnLimit)
  }

  #expire(): void {
    this.#endBy(this.#limit < this.options.timeLimit ? 'turn limit' : 'time limit')
  }

  /** Another transaction held a lock for too long, and this one may hold locks that it wants. */
  #leaveShare(): void {
    if (this.#state === 'open') this.#endBy('conflict')
  }

  #endBy(by: EndedBy): void {
    this.#end(by === 'conflict' ? 'rolled back' : 'out of time')
    this.options.onEnd(by)
  }

  #end(ending: Ending): void {
    this.#finish(ending)
    const isBusy = this.#running > 0
    const reason = new TransactionOver(ending)
    // A statement without an answer cannot be rolled back alone: all scopes of the transaction run again.
    if (this.#transaction && isBusy) this.#queue.fail(this.#transaction, reason)
    else if (this.#transaction) this.#queue.undo(this.#transaction)
    else {
      if (this.query) this.#answer.reject(reason)
      this.#turn?.reject(reason)
      if (!this.#batch) this.#queue.remove(this)
      else if (isBusy) this.#batch.fail(reason)
      else this.#batch.breakUp()
      this.#abandoned?.abort(reason)
    }
  }

  #finish(ending: Ending): void {
    this.#state = 'ended'
    this.#ending = ending
    this.#cancelTimer?.()
    this.#lock.held = false
    this.#queue.noteEnd(this, ending === 'committed' && this.#statements <= 1)
  }

  #throwIfOver(): void {
    if (this.#ending) throw new TransactionOver(this.#ending)
    if (this.#failure) throw this.#failure
  }
}
