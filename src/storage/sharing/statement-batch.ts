import { TransactionOver } from '../lazy-transaction.ts'
import type { PendingCommit, SharedScope } from './savepoint-scope.ts'
import type { ScopedTransaction, SharedTransactionQueue } from './shared-transaction-queue.ts'
import { failureOf, isConflict } from './transaction-driver.ts'

/** Milliseconds that a statement may take when it is run again: the time limit of its handler no longer applies. */
const longestReplay = 250

/**
 * `together`: the statements share one savepoint. It ends when all scopes have been released.
 * `singly`: the shared savepoint was rolled back, and the scopes run again one after the other, each in a savepoint of its own.
 * `done`: all scopes have ended, and the transaction goes on. `failed`: the transaction has failed.
 */
type State = 'together' | 'singly' | 'done' | 'failed'

/**
 * Scopes that are expected to have one statement each: their statements are sent together under one savepoint. If a scope sends a
 * second statement, fails or is rolled back, the batch is broken up. Example: A and B each send an UPDATE, and each is told that it
 * changed one row. B sends a second statement. Both UPDATEs are rolled back and run again. Each must change one row again, because A
 * and B know that number; otherwise the transaction fails.
 */
export class StatementBatch<Note> {
  readonly #queue: SharedTransactionQueue<Note>
  readonly #transaction: ScopedTransaction<Note>
  readonly #scopes: readonly SharedScope<Note>[]
  #state: State = 'together'
  /** Scopes that were not released; counted while `together`. */
  #unreleased: number
  /** Resolves when the statements that were sent together have been answered, or refused. */
  #answered: Promise<void> | undefined
  #onTurnEnded: (() => void) | undefined

  constructor(
    queue: SharedTransactionQueue<Note>,
    transaction: ScopedTransaction<Note>,
    scopes: readonly SharedScope<Note>[],
  ) {
    this.#queue = queue
    this.#transaction = transaction
    this.#scopes = scopes
    this.#unreleased = scopes.length
  }

  /** Sends the statements; the savepoint is set. */
  start(): void {
    for (const scope of this.#scopes) scope.begin(this)
    if (this.#scopes.some(({ needsTurn }) => needsTurn)) return this.breakUp()
    for (const { pending } of this.#scopes) if (pending) this.#unreleased -= 1
    this.#send(this.#scopes.filter(({ query }) => query))
    this.#finishIfAllReleased()
  }

  /** A scope was released. */
  released(): void {
    this.#unreleased -= 1
    this.#finishIfAllReleased()
  }

  /** A scope that had the transaction to itself has ended; `pending` if it was released. */
  turnEnded(pending: PendingCommit<Note> | undefined): void {
    if (pending) this.#transaction.pending.push(pending)
    this.#onTurnEnded?.()
  }

  /** Runs all scopes again, one after the other. Has an effect once. */
  breakUp(): void {
    if (this.#state !== 'together') return
    this.#state = 'singly'
    this.#runSingly().catch((error: unknown) => this.fail(error))
  }

  /** Ends the transaction, which cannot continue. */
  fail(error: unknown): void {
    if (this.#state !== 'failed') this.#queue.fail(this.#transaction, error)
  }

  /** The transaction failed: notifies the open scopes. Its host rejects the commits of the released ones. */
  transactionFailed(error: unknown): void {
    if (this.#hasFailed()) return
    this.#state = 'failed'
    for (const scope of this.#scopes) {
      // Some may be there already. Only the first rejection of a commit has an effect.
      if (scope.pending) this.#transaction.pending.push(scope.pending)
      else if (!scope.hasLeft) scope.fail(failureOf(false, error))
    }
  }

  #send(scopes: readonly SharedScope<Note>[]): void {
    if (scopes.length === 0) return
    const queries = scopes.map(({ query }) => query!)
    this.#answered = this.#transaction.driver.runTogether!(queries).then(
      (results) => {
        if (this.#state !== 'together') return
        for (const [index, scope] of scopes.entries()) scope.report(results[index]!)
      },
      // Running them singly shows which statement failed, and why. But while others hold a lock, each would wait for it again.
      (error: unknown) => (isConflict(error) ? this.fail(error) : this.breakUp()),
    )
  }

  #finishIfAllReleased(): void {
    if (this.#unreleased > 0 || this.#state !== 'together') return
    try {
      this.#transaction.driver.releaseSavepoint(true)
    } catch (error) {
      return this.fail(error)
    }
    for (const { pending } of this.#scopes) this.#transaction.pending.push(pending!)
    this.#finish()
  }

  #finish(): void {
    this.#state = 'done'
    this.#queue.batchDone(this.#transaction)
  }

  async #runSingly(): Promise<void> {
    // A rollback must not overtake statements that are still running.
    await this.#answered
    if (this.#hasFailed()) return
    this.#transaction.driver.rollbackToSavepoint()
    for (const scope of this.#scopes) {
      if (!scope.hasLeft) await this.#runAlone(scope)
      if (this.#hasFailed()) return
    }
    this.#finish()
  }

  async #runAlone(scope: SharedScope<Note>): Promise<void> {
    const { driver } = this.#transaction
    driver.savepoint()
    this.#transaction.savepoints += 1
    if (scope.query) await this.#replay(scope)
    if (this.#hasFailed()) return
    if (scope.hasLeft) return driver.rollbackToSavepoint()
    if (!scope.pending) return this.#giveTurn(scope)
    driver.releaseSavepoint(true)
    this.#transaction.pending.push(scope.pending)
  }

  /** Runs the statement of a scope again. @throws when it changed another number of rows than the caller was told */
  async #replay(scope: SharedScope<Note>): Promise<void> {
    const cancel = this.#queue.scheduler.after(longestReplay, () =>
      this.fail(new TransactionOver('out of time')),
    )
    try {
      const result = await this.#transaction.driver.run(scope.query!)
      if (this.#hasFailed() || scope.hasLeft) return
      if (!scope.reported) return scope.report(result)
      if (scope.reported.numAffectedRows !== result.numAffectedRows)
        throw new Error('a statement changed another number of rows when it was run again')
    } catch (error) {
      if (scope.reported || isConflict(error)) throw error
      scope.rejectStatement(error)
    } finally {
      cancel()
    }
  }

  /** Resolves when the turn of the scope ends. If the transaction fails during it, that may never happen. */
  async #giveTurn(scope: SharedScope<Note>): Promise<void> {
    const ended = new Promise<void>((resolve) => (this.#onTurnEnded = resolve))
    scope.giveTurn(this.#transaction)
    await ended
    this.#onTurnEnded = undefined
  }

  #hasFailed(): boolean {
    return this.#state === 'failed'
  }
}
