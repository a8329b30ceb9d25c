/** Milliseconds for which a queue that another process owned is not claimed again. Then that process may have released it. */
const foreignFor = 1_000

/** The queues that another process owned when this process tried to claim them. */
export class ForeignQueues {
  /** By subscriber, when this process found the queue owned by another one. */
  readonly #foundAt = new Map<string, number>()

  /** Whether another process owned the queue a moment ago. */
  has(subscriberId: string, now: number): boolean {
    const foundAt = this.#foundAt.get(subscriberId)
    return foundAt !== undefined && isRecent(foundAt, now)
  }

  /** Records which queues another process owned, and forgets those that were found long ago. */
  record(subscriberIds: readonly string[], now: number): void {
    for (const [id, foundAt] of this.#foundAt) if (!isRecent(foundAt, now)) this.#foundAt.delete(id)
    for (const id of subscriberIds) this.#foundAt.set(id, now)
  }
}

function isRecent(foundAt: number, now: number): boolean {
  return Math.abs(now - foundAt) < foreignFor
}
