/** Milliseconds for which a queue that another process owned is not claimed again. Then that process may have released it. */
const foreignFor = 1_000

/** The queues that another process owned when this process tried to claim them, and the news of them for their owners. */
export class ForeignQueues {
  readonly #notifyOwner: (subscriberId: string) => void
  /** By subscriber, when this process found the queue owned by another one. */
  readonly #foundAt = new Map<string, number>()
  /** Subscribers with new deliveries: if another process owns the queue, it must be notified. */
  readonly #withNews = new Set<string>()

  constructor(notifyOwner: (subscriberId: string) => void) {
    this.#notifyOwner = notifyOwner
  }

  /**
   * A subscriber without a queue here has new deliveries. Notifies the process that owns the queue and returns true; returns
   * false if the queue must be claimed first.
   */
  tryNotify(subscriberId: string, now: number): boolean {
    const foundAt = this.#foundAt.get(subscriberId)
    if (foundAt === undefined || !isRecent(foundAt, now)) {
      this.#withNews.add(subscriberId)
      return false
    }
    this.#notifyOwner(subscriberId)
    return true
  }

  /** Call it after an attempt to claim these queues. Notifies the owners of those that have news. */
  recordClaims(
    subscriberIds: readonly string[],
    isForeign: (subscriberId: string) => boolean,
    now: number,
  ): void {
    for (const [id, foundAt] of this.#foundAt) if (!isRecent(foundAt, now)) this.#foundAt.delete(id)
    for (const id of subscriberIds) {
      const hasNews = this.#withNews.delete(id)
      if (!isForeign(id)) continue
      this.#foundAt.set(id, now)
      if (hasNews) this.#notifyOwner(id)
    }
  }
}

function isRecent(foundAt: number, now: number): boolean {
  return Math.abs(now - foundAt) < foreignFor
}
