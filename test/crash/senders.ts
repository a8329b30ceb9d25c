import { setTimeout as wait } from 'node:timers/promises'
import type { Chance } from '../harness/chance.ts'
import { postWebhook } from '../receiving/harness.ts'

/** How many of each type there are among so many events. */
const shares = { quick: 14, slow: 4, alone: 1, throwing: 3, ordered: 8, poison: 2 }
const types = Object.entries(shares).flatMap(([type, count]) => Array.from({ length: count }, () => type))
const keys = ['a', 'b', 'c', 'd', 'e']

interface Sent {
  readonly id: string
  readonly type: string
  readonly key?: string
  readonly throws?: number
}

/** Senders that deliver at least once, to whichever process answers. */
export class Senders {
  readonly acknowledged = new Set<string>()
  /** Requests that nobody answered: what they brought may be kept or not. */
  unanswered = 0
  unavailable = 0
  duplicates = 0
  #numbers = 0
  #ended = false
  readonly #chance: Chance
  readonly #addresses: () => string[]
  readonly #paused: () => boolean
  readonly #running: Promise<void>[]

  /** @param paused whether enough is waiting */
  constructor(count: number, chance: Chance, addresses: () => string[], paused = (): boolean => false) {
    this.#chance = chance
    this.#addresses = addresses
    this.#paused = paused
    this.#running = Array.from({ length: count }, () => this.#send())
  }

  /** Each ends what it is about. */
  async end(): Promise<void> {
    this.#ended = true
    await Promise.all(this.#running)
  }

  async #send(): Promise<void> {
    const chance = this.#chance
    while (!this.#ended) {
      if (this.#paused()) {
        await wait(20)
        continue
      }
      const type = chance.pick(types)
      const event: Sent = {
        id: `${type}-${(this.#numbers += 1)}`,
        type,
        ...(type === 'ordered' && { key: chance.pick(keys) }),
        ...((type === 'throwing' || chance.is(0.02)) && { throws: 1 + chance.below(2) }),
      }
      // Some senders give up at once, and nobody has promised them anything.
      const tries = chance.is(0.1) ? 1 : 50
      for (let attempt = 0; attempt < tries && !this.acknowledged.has(event.id); attempt += 1) {
        await this.#post(event)
        await wait(2 + 12 * chance.next())
      }
      if (!chance.is(0.2)) continue
      this.duplicates += 1
      await this.#post(event)
    }
  }

  async #post(event: Sent): Promise<void> {
    const addresses = this.#addresses()
    if (addresses.length === 0) return wait(10)
    const base = this.#chance.pick(addresses)
    let status: number
    let retryAfter: number
    try {
      const response = await postWebhook({ fetch: (path, init) => fetch(new URL(path, base), init) }, event)
      await response.arrayBuffer()
      status = response.status
      retryAfter = Number(response.headers.get('retry-after'))
    } catch {
      // Killed on the way: whatever became of it, it was not acknowledged.
      this.unanswered += 1
      return
    }
    if (status === 200) this.acknowledged.add(event.id)
    else if (status === 503 && retryAfter > 0) this.unavailable += 1
    else throw new Error(`${event.id} was answered with ${status}, and Retry-After ${retryAfter}`)
  }
}
