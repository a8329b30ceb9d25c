import { setTimeout as wait } from 'node:timers/promises'
import type { Chance } from '../../harness/chance.ts'
import { adminKey } from '../postern/keys.ts'
import { now } from '../now.ts'
import { whyOf, type Demands } from './demands.ts'

interface Page {
  data: { id: number; eventId: string; direction: string }[]
}

const patience = 12_000
const limit = 100

/** Follows GET /events from the beginning, as a client does that copies the log, and sees whether numbers keep their meaning. */
export class Follower {
  /** Ids of events, with their direction: one that came in may have the id of one that went out. */
  readonly seen = new Set<string>()
  /** Numbers that stood for two events, without the follower being told. */
  readonly reused: string[] = []
  /** What each number stood for when it was read. */
  readonly numbers = new Map<number, string>()
  /** How often it was told that its cursor is good no more. */
  restarts = 0
  #cursor = 0
  #ended = false
  readonly #running: Promise<void>
  readonly #chance: Chance
  readonly #addresses: () => string[]
  readonly #demands: Demands

  constructor(chance: Chance, addresses: () => string[], demands: Demands) {
    this.#demands = demands
    this.#chance = chance
    this.#addresses = addresses
    this.#running = this.#follow()
  }

  async end(): Promise<void> {
    this.#ended = true
    await this.#running
  }

  async #follow(): Promise<void> {
    while (!this.#ended) {
      const there = this.#addresses()
      const full = there.length > 0 && (await this.#page(this.#chance.pick(there)))
      if (!full) await wait(300)
    }
  }

  async #page(base: string): Promise<boolean> {
    const beganAt = now()
    let response: Response
    let page: Page
    try {
      response = await fetch(new URL(`/events?limit=${limit}&cursor=${this.#cursor}`, base), {
        headers: { authorization: `Bearer ${adminKey}` },
        signal: AbortSignal.timeout(patience),
      })
      page = (await response.json()) as Page
    } catch (error) {
      this.#demands.failed('page', beganAt, whyOf(error))
      return false
    }
    if (
      response.status >= 400 &&
      response.status < 500 &&
      response.status !== 408 &&
      response.status !== 429
    ) {
      this.restarts += 1
      this.#cursor = 0
      return false
    }
    if (response.status !== 200) {
      this.#demands.failed('page', beganAt, `${response.status}`)
      return false
    }
    for (const { id, eventId, direction } of page.data) {
      const event = `${direction} ${eventId}`
      const before = this.numbers.get(id)
      if (before !== undefined && before !== event) this.reused.push(`${id} was ${before}, then ${event}`)
      this.numbers.set(id, event)
      this.seen.add(event)
      this.#cursor = Math.max(this.#cursor, id)
    }
    return page.data.length === limit
  }
}
