import { type Clock, Period } from './clock.ts'

/** Milliseconds that a statement may take, and without statements after a late or failed one. */
const maxWait = 1_000
const pause = 5_000

interface SharedLimitParts<Call, Answer> {
  /** Asks the database. The answers have the order of the calls. @throws StorageUnavailable */
  ask: (calls: readonly Call[], now: number) => Promise<readonly Answer[]>
  clock: Clock
  onError: (error: unknown) => void
}

/**
 * Asks the database about a limit that all processes share, with one statement at a time for all calls that wait. A late or failed
 * statement delays nobody: its calls are answered `undefined`, and the process counts them alone, as it does while `isSilent`.
 */
export class SharedLimit<Call, Answer> {
  readonly #parts: SharedLimitParts<Call, Answer>
  #waiting: { call: Call; resolve: (answer: Answer | undefined) => void }[] = []
  #isAsking = false
  #isLate = false
  readonly #pause = new Period()

  constructor(parts: SharedLimitParts<Call, Answer>) {
    this.#parts = parts
  }

  get waiting(): number {
    return this.#waiting.length
  }

  isSilent(now: number): boolean {
    return this.#isLate || this.#pause.has(now)
  }

  /** Does not reject. */
  take(call: Call): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      this.#waiting.push({ call, resolve })
      this.ask()
    })
  }

  /** Asks also if no call waits, unless a statement is under way. */
  ask(): void {
    if (!this.#isAsking) void this.#askForAll()
  }

  async #askForAll(): Promise<void> {
    const { ask, clock, onError } = this.#parts
    this.#isAsking = true
    // Calls of the same turn share a statement.
    await Promise.resolve()
    do {
      const asked = this.#waiting.splice(0)
      const giveUp = (): void => {
        this.#pause.start(clock.now(), pause)
        for (const { resolve } of [...asked, ...this.#waiting.splice(0)]) resolve(undefined)
      }
      const cancel = clock.after(maxWait, () => {
        this.#isLate = true
        giveUp()
      })
      try {
        const calls = asked.map(({ call }) => call)
        const answers = await ask(calls, clock.now())
        for (const [index, { resolve }] of asked.entries()) resolve(answers[index])
      } catch (error) {
        onError(error)
        giveUp()
      } finally {
        cancel()
        this.#isLate = false
      }
    } while (this.#waiting.length > 0)
    this.#isAsking = false
  }
}

/**
 * A rate per second that allows a burst of one second's, and of one at a rate below one. Times are milliseconds; a clock that is set
 * back adds no tokens, and blocks nobody for longer than the rate does.
 */
export class TokenBucket {
  #tokens: number
  #at: number

  /** @param tokens at `now` */
  constructor(tokens: number, now: number) {
    this.#tokens = tokens
    this.#at = now
  }

  /** The tokens at `now`. The rate may be another one each time. */
  fill(perSecond: number, now: number): number {
    const gained = (Math.max(0, now - this.#at) / 1000) * perSecond
    this.#tokens = Math.min(burstOf(perSecond), this.#tokens + gained)
    this.#at = now
    return this.#tokens
  }

  /** Takes one of the tokens at `now`, which may be missing. Returns the rest. */
  spend(perSecond: number, now: number): number {
    return (this.#tokens = this.fill(perSecond, now) - 1)
  }

  /** Removes the tokens at `now` beyond `most`. */
  limitTo(most: number, perSecond: number, now: number): void {
    this.#tokens = Math.min(most, this.fill(perSecond, now))
  }
}

export function burstOf(perSecond: number): number {
  return Math.max(1, perSecond)
}
