import type { CompiledQuery, QueryResult } from 'kysely'
import type { SavepointScope, ScopeOptions } from '../shared-transactions.ts'
import type { Tx } from '../database.ts'
import { insideTransaction } from '../inside-transaction.ts'
import { transactionOver } from '../query-runner.ts'
import { refuseTransactionControl } from '../statement-kinds.ts'
import { TransactionOver } from '../transaction-over.ts'
import { Participant, type ParticipantEvents } from './participant.ts'
import type { ScopeHost } from './scope-host.ts'
import type { ScopedTransaction } from './scoped-transaction.ts'

/**
 * `new`: no statement was sent. `queued`: it waits for a turn of its own. `batched`: it takes part in a batch of statements, which may
 * wait in the same queue. `open`: it has the transaction to itself, within a savepoint. `ended`: see Ending.
 */
type State = 'new' | 'queued' | 'batched' | 'open' | 'ended'
/** `committed`: it was released. Its commit follows, and may fail. */
type Ending = 'committed' | 'rolled back' | 'out of time'

const transitions: Readonly<Record<State, readonly State[]>> = {
  new: ['queued', 'batched', 'ended'],
  queued: ['open', 'ended'],
  batched: ['open', 'ended'],
  open: ['ended'],
  ended: [],
}

/** @see SavepointScope */
export class SharedSavepointScope<Note> implements SavepointScope<Note>, ParticipantEvents<Note> {
  readonly tx: Tx
  readonly options: ScopeOptions
  readonly #host: ScopeHost<Note>
  /** For SQLite: held while the scope has the turn, so that waiting for the write lock within it fails instead of deadlocking. */
  readonly #lock = { held: false }
  #state: State = 'new'
  #ending: Ending | undefined
  /** Why the transaction failed in which this scope was batched. */
  #failure: Error | undefined
  #abandoned: AbortController | undefined
  #turn: Promise<void> | undefined
  #participant: Participant<Note> | undefined
  #transaction: ScopedTransaction<Note> | undefined
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

  constructor(host: ScopeHost<Note>, options: ScopeOptions) {
    this.#host = host
    this.options = options
    this.tx = transactionOver(host.engine, (query) => this.#run(query))
  }

  get released(): boolean {
    return this.#ending === 'committed'
  }

  /** Aborted when the scope ends before its turn. */
  get abandoned(): AbortSignal {
    return (this.#abandoned ??= new AbortController()).signal
  }

  get isWaiting(): boolean {
    return this.#queuedAt !== undefined && this.#beganAt === undefined
  }

  get waited(): number {
    if (this.#queuedAt === undefined) return 0
    return (this.#beganAt ?? this.#host.scheduler.elapsed()) - this.#queuedAt
  }

  get took(): number {
    return this.#beganAt === undefined ? 0 : this.#host.scheduler.elapsed() - this.#beganAt
  }

  within<T>(work: () => T): T {
    return insideTransaction(this.#lock, work)
  }

  async release(note: Note): Promise<{ committed: Promise<void> }> {
    if (this.#state === 'new' && this.#host.mayBatch(this, undefined)) this.#joinBatch(undefined)
    if (!this.#participant) await this.#ownTurn()
    // Also for statements that are sent meanwhile.
    while (this.#unsettled > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    this.#throwIfOver()
    const transaction = this.#transaction
    const participant = this.#participant
    transaction?.driver.releaseSavepoint(this.#answered)
    this.#finish('committed')
    const committed = new Promise<void>((resolve, reject) => {
      const pending = { note, resolve, reject }
      if (transaction) this.#host.turnEnded(transaction, pending)
      else participant!.commitWith(pending)
    })
    return { committed }
  }

  async rollback(): Promise<void> {
    if (this.#state === 'ended') return
    this.#finish('rolled back')
    this.#leave()
  }

  began(): void {
    if (this.#state === 'ended') return
    this.#beganAt = this.#host.scheduler.elapsed()
    this.#cancelTimer = this.#host.scheduler.after(this.#limit, () => this.#expire())
  }

  tookTurn(transaction: ScopedTransaction<Note>): void {
    this.#enter('open')
    this.#transaction = transaction
  }

  failed(error: Error): void {
    this.#failure = error
    this.#cancelTimer?.()
  }

  async #run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    refuseTransactionControl(query.sql)
    this.#throwIfOver()
    this.#statements += 1
    this.#unsettled += 1
    try {
      if (this.#state === 'new' && this.#host.mayBatch(this, query))
        return await this.#untilAnswered(this.#joinBatch(query).answer)
      await this.#ownTurn()
      // It may have ended since its turn began. The statement would run in the savepoint of another scope.
      this.#throwIfOver()
      const result = this.#transaction!.driver.run(query)
      return result instanceof Promise ? await this.#untilAnswered(result) : result
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

  #joinBatch(query: CompiledQuery | undefined): Participant<Note> {
    this.#enter('batched')
    this.#queuedAt = this.#host.scheduler.elapsed()
    const participant = (this.#participant = new Participant<Note>(this, query))
    this.#host.joinBatch(this, participant)
    return participant
  }

  /** Resolves when the scope is open, or has ended. If its statement was batched, the batch is broken up. */
  async #ownTurn(): Promise<void> {
    this.#throwIfOver()
    if (this.#state === 'open') return
    await (this.#participant ? this.#participant.ownTurn() : (this.#turn ??= this.#queue()))
  }

  async #queue(): Promise<void> {
    this.#enter('queued')
    this.#queuedAt = this.#host.scheduler.elapsed()
    const transaction = await this.#host.turnFor(this)
    if (this.#ending) return this.#undo(transaction)
    this.tookTurn(transaction)
    this.#lock.held = true
    this.began()
  }

  get #limit(): number {
    const { alone, timeLimit, turnLimit } = this.options
    return alone ? timeLimit : Math.min(timeLimit, turnLimit)
  }

  #expire(): void {
    this.#finish('out of time')
    this.#leave()
    this.options.onTimeLimit(this.#limit < this.options.timeLimit)
  }

  #leave(): void {
    const isBusy = this.#running > 0
    const reason = new TransactionOver(this.#ending!)
    if (this.#transaction && isBusy)
      // A statement without an answer cannot be rolled back alone: all scopes of the transaction run again.
      this.#host.fail(this.#transaction, reason)
    else if (this.#transaction) this.#undo(this.#transaction)
    else {
      this.#participant?.leave(isBusy, reason)
      if (!this.#participant?.hasBegun) this.#host.leaveQueue(this)
    }
  }

  #undo(transaction: ScopedTransaction<Note>): void {
    try {
      transaction.driver.rollbackToSavepoint()
    } catch (error) {
      return this.#host.fail(transaction, error)
    }
    this.#host.turnEnded(transaction)
  }

  #finish(ending: Ending): void {
    this.#enter('ended')
    this.#ending = ending
    this.#cancelTimer?.()
    this.#lock.held = false
    this.#host.noteEnd(this, ending === 'committed' && this.#statements <= 1)
    if (!this.#transaction) this.#abandoned?.abort(new TransactionOver(ending))
  }

  #throwIfOver(): void {
    if (this.#ending) throw new TransactionOver(this.#ending)
    if (this.#failure) throw this.#failure
  }

  #enter(state: State): void {
    if (!transitions[this.#state].includes(state))
      throw new Error(`a savepoint scope cannot change from ${this.#state} to ${state}`)
    this.#state = state
  }
}
