interface Waiter {
  readonly share: string
  readonly enter: () => void
}

/**
 * Divides a limited number of connections among shares, in the order of requests. When a third is left, only shares without a
 * connection get one, so that a share with long transactions never takes all. One connection is reserved for the favoured share,
 * whose transactions are short.
 */
export class ConnectionShares {
  readonly #most: number
  readonly #scarceFrom: number
  readonly #favoured: string | undefined
  readonly #held = new Map<string, number>()
  readonly #waiting: Waiter[] = []
  #used = 0

  /** @param favoured the share for which one of several connections is reserved */
  constructor(most: number, favoured?: string) {
    this.#most = most
    this.#favoured = most > 1 ? favoured : undefined
    this.#scarceFrom = Math.ceil(((this.#favoured === undefined ? most : most - 1) * 2) / 3)
  }

  /** Resolves with the function that returns the connection. @throws the signal's reason if it is aborted first */
  enter(share: string, signal: AbortSignal): Promise<() => void> {
    if (this.#mayEnter(share)) return Promise.resolve(this.#acquire(share))
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        reject(signal.reason as Error)
      }
      const waiter: Waiter = {
        share,
        enter: () => {
          signal.removeEventListener('abort', stopWaiting)
          resolve(this.#acquire(share))
        },
      }
      signal.addEventListener('abort', stopWaiting, { once: true })
      this.#waiting.push(waiter)
    })
  }

  #mayEnter(share: string): boolean {
    if (share === this.#favoured) return this.#used < this.#most
    const favoured = this.#favoured === undefined ? 0 : (this.#held.get(this.#favoured) ?? 0)
    const reserved = this.#favoured !== undefined && favoured === 0 ? 1 : 0
    if (this.#used + reserved >= this.#most) return false
    return !this.#held.has(share) || this.#used - favoured < this.#scarceFrom
  }

  #acquire(share: string): () => void {
    this.#used += 1
    this.#held.set(share, (this.#held.get(share) ?? 0) + 1)
    let left = false
    return () => {
      if (left) return
      left = true
      this.#used -= 1
      const others = this.#held.get(share)! - 1
      if (others === 0) this.#held.delete(share)
      else this.#held.set(share, others)
      const next = this.#waiting.findIndex((waiter) => this.#mayEnter(waiter.share))
      if (next >= 0) this.#waiting.splice(next, 1)[0]!.enter()
    }
  }
}
