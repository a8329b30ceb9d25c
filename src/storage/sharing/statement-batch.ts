import type { Scheduler } from '../../runtime/clock.ts'
import { TransactionOver } from '../transaction-over.ts'
import type { Participant } from './participant.ts'
import type { PendingCommit, ScopedTransaction } from './scoped-transaction.ts'
import { failureOf } from './transaction-driver.ts'

/** Milliseconds that a statement may take when it is run again: the time limit of its handler no longer applies. */
const longestReplay = 250

/** What owns the transaction of a batch. */
export interface StatementBatchHost<Note> {
  readonly scheduler: Scheduler
  /** All participants have ended; `transaction.pending` has those to be committed. */
  batchDone(transaction: ScopedTransaction<Note>): void
  /** Ends a transaction that cannot continue. */
  fail(transaction: ScopedTransaction<Note>, error: unknown): void
}

/**
 * `together`: the statements share one savepoint. It ends when all participants have been released.
 * `singly`: the shared savepoint was rolled back, and the participants run again one after the other, each in a savepoint of its own.
 * `done`: all participants have ended, and the transaction goes on. `failed`: the transaction has failed.
 */
type State = 'together' | 'singly' | 'done' | 'failed'

const transitions: Readonly<Record<State, readonly State[]>> = {
  together: ['singly', 'done', 'failed'],
  singly: ['done', 'failed'],
  done: [],
  failed: [],
}

/**
 * Scopes that are expected to have one statement each: their statements are sent together under one savepoint. If a scope sends a
 * second statement, fails or is rolled back, the batch is broken up. Example: A and B each send an UPDATE, and each is told that it
 * changed one row. B sends a second statement. Both UPDATEs are rolled back and run again. Each must change one row again, because A
 * and B know that number; otherwise the transaction fails.
 */
export class StatementBatch<Note> {
  readonly #host: StatementBatchHost<Note>
  readonly #transaction: ScopedTransaction<Note>
  readonly #participants: readonly Participant<Note>[]
  #state: State = 'together'
  /** Participants that were not released; counted while `together`. */
  #unreleased: number
  /** Resolves when the statements that were sent together have been answered, or refused. */
  #answered: Promise<void> | undefined
  #onTurnEnded: (() => void) | undefined

  constructor(
    host: StatementBatchHost<Note>,
    transaction: ScopedTransaction<Note>,
    participants: readonly Participant<Note>[],
  ) {
    this.#host = host
    this.#transaction = transaction
    this.#participants = participants
    this.#unreleased = participants.length
  }

  /** Sends the statements; the savepoint is set. */
  start(): void {
    for (const participant of this.#participants) participant.begin(this)
    if (this.#participants.some(({ needsTurn }) => needsTurn)) return this.breakUp()
    for (const { pending } of this.#participants) if (pending) this.#unreleased -= 1
    this.#send(this.#participants.filter(({ query }) => query))
    this.#finishIfAllReleased()
  }

  /** A participant was released. */
  ended(): void {
    this.#unreleased -= 1
    this.#finishIfAllReleased()
  }

  /** A participant that had the transaction to itself has ended; `pending` if it was released. */
  turnEnded(pending: PendingCommit<Note> | undefined): void {
    if (pending) this.#transaction.pending.push(pending)
    this.#onTurnEnded?.()
  }

  /** Runs all participants again, one after the other. Has an effect once. */
  breakUp(): void {
    if (this.#state !== 'together') return
    this.#enter('singly')
    this.#runSingly().catch((error: unknown) => this.fail(error))
  }

  /** Ends the transaction, which cannot continue. */
  fail(error: unknown): void {
    if (this.#state !== 'failed') this.#host.fail(this.#transaction, error)
  }

  /** The transaction failed: notifies the open participants. Its host rejects the commits of the released ones. */
  transactionFailed(error: unknown): void {
    if (this.#hasFailed()) return
    this.#enter('failed')
    for (const participant of this.#participants) {
      // Some may be there already. Only the first rejection of a commit has an effect.
      if (participant.pending) this.#transaction.pending.push(participant.pending)
      else if (!participant.hasLeft) participant.fail(failureOf(false, error))
    }
  }

  #send(participants: readonly Participant<Note>[]): void {
    if (participants.length === 0) return
    const queries = participants.map(({ query }) => query!)
    this.#answered = this.#transaction.driver.runTogether!(queries).then(
      (results) => {
        if (this.#state !== 'together') return
        for (const [index, participant] of participants.entries()) participant.report(results[index]!)
      },
      // Running them singly shows which statement failed, and why.
      () => this.breakUp(),
    )
  }

  #finishIfAllReleased(): void {
    if (this.#unreleased > 0 || this.#state !== 'together') return
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
    this.#host.batchDone(this.#transaction)
  }

  async #runSingly(): Promise<void> {
    // A rollback must not overtake statements that are still running.
    await this.#answered
    if (this.#hasFailed()) return
    this.#transaction.driver.rollbackToSavepoint()
    for (const participant of this.#participants) {
      if (!participant.hasLeft) await this.#runAlone(participant)
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
    if (participant.hasLeft) return driver.rollbackToSavepoint()
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
      if (this.#hasFailed() || participant.hasLeft) return
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

  /** Resolves when the turn of the participant ends. If the transaction fails during it, that may never happen. */
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
