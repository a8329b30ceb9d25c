/** Milliseconds up to which handlers count as quick. */
export const quickHandler = 200
/** Milliseconds up to which handlers count as instant. */
const instantHandler = 50
/** Milliseconds that a handler of which nothing is known counts as: after four instant runs it is instant. */
const unknownHandler = 400
/** Milliseconds up to which transactions may share a commit. */
const shortTransaction = 100
/** Milliseconds that a transaction counts as at most. One that ran out of time counts as more, so that it counts for longer. */
const [longTransaction, endlessTransaction] = [1_000, 16_000]

/** How long the handlers of a concurrency group and their transactions took lately. */
export class HandlerPace {
  #duration = unknownHandler
  #transaction = 0

  /** Milliseconds that the handlers took lately. */
  get duration(): number {
    return this.#duration
  }

  get isQuick(): boolean {
    return this.#duration <= quickHandler
  }

  get isInstant(): boolean {
    return this.#duration <= instantHandler
  }

  /** Whether the transactions have been short, so that they may share a commit with others. */
  get hasShortTransactions(): boolean {
    return this.#transaction <= shortTransaction
  }

  /** Whether a transaction has blocked others for so long that one may run at a time. */
  get isExclusive(): boolean {
    return this.#transaction > longTransaction
  }

  /** Records a successful handler: `lasted` milliseconds, of which its transaction took `transaction`. */
  succeeded(lasted: number, transaction: number): void {
    this.#duration = average(this.#duration, lasted)
    this.#transaction = average(this.#transaction, Math.min(transaction, longTransaction))
  }

  /** Records a failed handler, whose duration tells nothing. */
  failed(): void {
    this.#duration = average(this.#duration, unknownHandler)
  }

  /** Records a transaction that delayed others. */
  heldUpOthers(): void {
    this.#transaction = average(this.#transaction, longTransaction)
  }

  /** Records a transaction that blocked other writers for too long. */
  ranOutOfTime(): void {
    this.#transaction = endlessTransaction
  }
}

/** Updates an average that rises at once and falls by half of the difference. */
function average(before: number, now: number): number {
  return now > before ? now : (before + now) / 2
}
