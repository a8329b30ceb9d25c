/** A session on which a process hears revocations. */
export interface Listener {
  /** The process id of its server process. */
  pid: number
  /** Identifies the last statement that it began; null if unknown. */
  lastStatement: string | null
}

/** Milliseconds of tolerance for timers and clocks of different machines. */
const tolerance = 100

/**
 * Computes until when each process may use its cache without having heard an announcement. A process renews its lease by a statement:
 * the lease lasts from the begin of the last statement that was answered. The server delivers an announcement before the answer to
 * any later statement. So a process that the server shows with the same last statement stops using its cache one lease after this
 * was first seen.
 */
export class ListenerLeases {
  readonly #lease: number
  #seen = new Map<number, { lastStatement: string | null; endsAt: number }>()

  /** @param lease milliseconds */
  constructor(lease: number) {
    this.#lease = lease
  }

  /**
   * @param listeners as the server showed them after the commit of the announcement
   * @param now when its answer arrived, by a monotonic clock
   * @returns when the lease of each ends, by the same clock; without expired leases
   */
  of(listeners: readonly Listener[], now: number): Map<number, number> {
    const before = this.#seen
    this.#seen = new Map()
    const running = new Map<number, number>()
    for (const { pid, lastStatement } of listeners) {
      const known = before.get(pid)
      const same = lastStatement !== null && known?.lastStatement === lastStatement
      const endsAt = same ? known.endsAt : now + this.#lease + tolerance
      this.#seen.set(pid, { lastStatement, endsAt })
      if (endsAt > now) running.set(pid, endsAt)
    }
    return running
  }
}

/** The wait for processes to confirm, each until the end of its lease. */
export class Wait {
  /** Resolves when each has confirmed, or its lease has ended. */
  readonly over: Promise<void>
  readonly #ends: Map<number, number>
  readonly #resolve: () => void
  #timer: NodeJS.Timeout | undefined

  /** @param ends by `pid`, in milliseconds of `performance.now()` */
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
