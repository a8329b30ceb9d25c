/** A connection on which a process hears of revocations. */
export interface Listener {
  /** The process id of its server process. */
  connection: number
  /** What tells the last statement that it began from all others; null when that is not known. */
  statement: string | null
}

/** Milliseconds that timers and clocks of different machines may be wrong by. */
const tolerance = 100

/**
 * Until when each process may still trust what it keeps without having heard what was just announced. A process trusts it
 * for one lease from the moment at which it began a statement that was answered. So, as long as the server shows no new statement, no
 * trust can outlast one lease from the first time that this was seen; and a new statement is answered behind the announcement.
 */
export class ListenerLeases {
  readonly #lease: number
  #seen = new Map<number, { statement: string | null; endsAt: number }>()

  /** @param lease milliseconds */
  constructor(lease: number) {
    this.#lease = lease
  }

  /**
   * @param listeners as the server showed them after the announcement was committed
   * @param now when its answer had come, by a clock that only goes on
   * @returns when the lease of each ends, by the same clock; without those whose lease has ended
   */
  of(listeners: readonly Listener[], now: number): Map<number, number> {
    const before = this.#seen
    this.#seen = new Map()
    const running = new Map<number, number>()
    for (const { connection, statement } of listeners) {
      const known = before.get(connection)
      const same = statement !== null && known?.statement === statement
      const endsAt = same ? known.endsAt : now + this.#lease + tolerance
      this.#seen.set(connection, { statement, endsAt })
      if (endsAt > now) running.set(connection, endsAt)
    }
    return running
  }
}

/** The wait for processes to confirm, each until the end of its lease. */
export class Wait {
  /** Resolves when each has confirmed or its lease has ended. */
  readonly over: Promise<void>
  readonly #ends: Map<number, number>
  readonly #resolve: () => void
  #timer: NodeJS.Timeout | undefined

  /** @param ends by connection, in milliseconds of `performance.now()` */
  constructor(ends: ReadonlyMap<number, number>) {
    this.#ends = new Map(ends)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.over = promise
    this.#resolve = resolve
    this.#look()
  }

  confirmed(connection: number): void {
    if (this.#ends.delete(connection)) this.#look()
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #look(): void {
    clearTimeout(this.#timer)
    if (this.#ends.size === 0) return this.#resolve()
    const last = Math.max(...this.#ends.values())
    const rest = last - performance.now()
    if (rest <= 0) this.#resolve()
    else this.#timer = setTimeout(() => this.#look(), rest)
  }
}
