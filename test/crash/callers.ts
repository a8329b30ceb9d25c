import { setTimeout as wait } from 'node:timers/promises'
import type { Chance } from '../harness/chance.ts'
import { adminKey } from '../harness/service.ts'

/** Callers that emit events, each again and again until it is answered, to whichever process answers. */
export class Callers {
  /** Events whose emission was answered with 202. */
  readonly accepted = new Set<string>()
  /** Calls that nobody answered: what they brought may be kept or not. */
  unanswered = 0
  refused = 0
  #numbers = 0
  #ended = false
  readonly #chance: Chance
  readonly #addresses: () => string[]
  readonly #paused: () => boolean
  readonly #running: Promise<void>[]

  /** @param paused whether enough is waiting */
  constructor(count: number, chance: Chance, addresses: () => string[], paused: () => boolean) {
    this.#chance = chance
    this.#addresses = addresses
    this.#paused = paused
    this.#running = Array.from({ length: count }, () => this.#emitAll())
  }

  /** Each ends what it is about. */
  async end(): Promise<void> {
    this.#ended = true
    await Promise.all(this.#running)
  }

  async #emitAll(): Promise<void> {
    while (!this.#ended) {
      if (this.#paused()) {
        await wait(20)
        continue
      }
      const id = `event-${(this.#numbers += 1)}`
      for (let attempt = 0; attempt < 50 && !this.accepted.has(id); attempt += 1) {
        await this.#emit(id)
        await wait(5 + 20 * this.#chance.next())
      }
    }
  }

  async #emit(id: string): Promise<void> {
    const addresses = this.#addresses()
    if (addresses.length === 0) return wait(10)
    let status: number
    try {
      const response = await fetch(new URL('/events', this.#chance.pick(addresses)), {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ id, type: 'a', data: id }),
      })
      await response.arrayBuffer()
      status = response.status
    } catch {
      // Killed on the way: whatever became of it, it was not accepted.
      this.unanswered += 1
      return
    }
    if (status === 202) this.accepted.add(id)
    // 503, or what becomes of a call whose process is stopped for a while in the middle of it.
    else if (status >= 500 || status === 408) this.refused += 1
    else throw new Error(`${id} was answered with ${status}`)
  }
}
