import type { Scheduler } from '../../runtime/clock.ts'
import { TransactionOver } from '../transaction-over.ts'
import type { Participant } from './participant.ts'
import type { BatchTurn, PendingCommit, TransactionBatch } from './transaction-batch.ts'
import { failureOf } from './transaction-driver.ts'

/** Milliseconds that a statement may take when it is run again: the time limit of its handler no longer applies. */
const longestReplay = 250

/** What owns the transaction of a batch. */
export interface StatementBatchHost<Note> {
  readonly scheduler: Scheduler
  /** All participants have ended; `transaction.pending` has those to be committed. */
  statementsDone(transaction: TransactionBatch<Note>): void
  /** Ends a transaction that cannot continue. */
  fail(transaction: TransactionBatch<Note>, error: unknown): void
}

/** `together`: under one savepoint. `singly`: each participant again, under a savepoint of its own. */
type State = 'together' | 'singly' | 'done' | 'failed'

const transitions: Readonly<Record<State, readonly State[]>> = {
  together: ['singly', 'done', 'failed'],
  singly: ['done', 'failed'],
  done: [],
  failed: [],
}

/**
 * Scopes that are expected to have one statement each: their statements are sent together under one savepoint. If a scope sends a
 * second statement or fails, the savepoint is rolled back, and the scopes run again one after the other, each in a savepoint of its
 * own. Example: A and B each send an UPDATE, and each is told that it changed one row. B sends a second statement. Both UPDATEs are
 * rolled back and run again. Each must change one row again, because A and B know that number; otherwise the transaction fails.
 */
export class StatementBatch<Note> implements BatchTurn<Note> {
  readonly #host: StatementBatchHost<Note>
  readonly #transaction: TransactionBatch<Note>
  readonly #participants: readonly Participant<Note>[]
  #state: State = 'together'
  /** Participants that have not ended. */
  #open: number
  #awaitingAnswers = false
  #onAnswers: (() => void) | undefined
  #onTurnEnded: (() => void) | undefined

  constructor(
    host: StatementBatchHost<Note>,
    transaction: TransactionBatch<Note>,
    participants: readonly Participant<Note>[],
  ) {
    this.#host = host
    this.#transaction = transaction
    this.#participants = participants
    this.#open = participants.length
  }

  /** Sends the statements; the savepoint is set. */
  start(): void {
    for (const participant of this.#participants) participant.begin(this)
    if (this.#participants.some(({ separate }) => separate)) return this.breakUp()
    for (const { pending } of this.#participants) if (pending) this.#open -= 1
    this.#send(this.#participants.filter(({ query }) => query))
    this.#finishIfAllEnded()
  }

  ended(): void {
    this.#open -= 1
    this.#finishIfAllEnded()
  }

  endTurn(pending: PendingCommit<Note> | undefined): void {
    if (pending) this.#transaction.pending.push(pending)
    this.#onTurnEnded?.()
  }

  breakUp(): void {
    if (this.#state !== 'together') return
    this.#enter('singly')
    this.#runSingly().catch((error: unknown) => this.fail(error))
  }

  fail(error: unknown): void {
    if (this.#state !== 'failed') this.#host.fail(this.#transaction, error)
  }

  failed(error: unknown): void {
    if (this.#hasFailed()) return
    this.#enter('failed')
    for (const participant of this.#participants) {
      if (participant.pending) this.#transaction.pending.push(participant.pending)
      else if (!participant.left) participant.fail(failureOf(false, error))
    }
  }

  #send(participants: readonly Participant<Note>[]): void {
    if (participants.length === 0) return
    this.#awaitingAnswers = true
    const answered = (): void => {
      this.#awaitingAnswers = false
      this.#onAnswers?.()
    }
    this.#transaction.driver.runTogether!(participants.map(({ query }) => query!)).then(
      (results) => {
        if (this.#state === 'together')
          for (const [index, participant] of participants.entries()) participant.report(results[index]!)
        answered()
      },
      () => {
        // Running them singly shows which statement failed, and why.
        this.breakUp()
        answered()
      },
    )
  }

  #finishIfAllEnded(): void {
    if (this.#open > 0 || this.#state !== 'together') return
    try {
      this.#transaction.driver.releaseSavepoint(true)
    } catch (error) {
      return this.fail(error)
    }
    for (const { pending } of this.#participants) this.#transaction.pending.push(pending!)
    this.#finish()
  }

  #finish(): void {
    this.#enter('done')
    this.#host.statementsDone(this.#transaction)
  }

  async #runSingly(): Promise<void> {
    if (this.#awaitingAnswers) await new Promise<void>((resolve) => (this.#onAnswers = resolve))
    if (this.#hasFailed()) return
    this.#transaction.driver.rollbackToSavepoint()
    for (const participant of this.#participants) {
      if (!participant.left) await this.#runAlone(participant)
      if (this.#hasFailed()) return
    }
    this.#finish()
  }

  async #runAlone(participant: Participant<Note>): Promise<void> {
    const { driver } = this.#transaction
    driver.savepoint()
    this.#transaction.savepoints += 1
    if (participant.query) await this.#replay(participant)
    if (this.#hasFailed()) return
    if (participant.left) return driver.rollbackToSavepoint()
    if (!participant.pending) return this.#giveTurn(participant)
    driver.releaseSavepoint(true)
    this.#transaction.pending.push(participant.pending)
  }

  /** Runs the statement of a participant again. @throws when it changed another number of rows than the caller was told */
  async #replay(participant: Participant<Note>): Promise<void> {
    const cancel = this.#host.scheduler.after(longestReplay, () =>
      this.fail(new TransactionOver('out of time')),
    )
    try {
      const result = await this.#transaction.driver.run(participant.query!)
      if (this.#hasFailed() || participant.left) return
      if (!participant.reported) return participant.report(result)
      if (participant.reported.numAffectedRows !== result.numAffectedRows)
        throw new Error('a statement changed another number of rows when it was run again')
    } catch (error) {
      if (participant.reported) throw error
      participant.rejectStatement(error)
    } finally {
      cancel()
    }
  }

  async #giveTurn(participant: Participant<Note>): Promise<void> {
    const ended = new Promise<void>((resolve) => (this.#onTurnEnded = resolve))
    participant.giveTurn(this.#transaction)
    await ended
    this.#onTurnEnded = undefined
  }

  #hasFailed(): boolean {
    return this.#state === 'failed'
  }

  #enter(state: State): void {
    if (!transitions[this.#state].includes(state))
      throw new Error(`a batch of statements cannot change from ${this.#state} to ${state}`)
    this.#state = state
  }
}
