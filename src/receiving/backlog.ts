import type { Clock } from '../runtime/clock.ts'
import { beforeAll, perRound } from './due-kinds.ts'
import type { EventQueue } from './store.ts'

/** Milliseconds between two looks at the event queue, and how long what was seen is believed. */
const interval = 1_000
const believed = 10_000
/** Pages of kinds that one look reads at most. */
const mostPages = 10

export interface BacklogParts {
  store: Pick<EventQueue, 'pendingKinds'>
  clock: Clock
  onError: (error: unknown) => void
}

/**
 * How long the oldest event of each source has been waiting for a worker. Requests ask all the time and are answered from
 * memory: they have the event queue looked at once a second at most, and none of them waits for that.
 *
 * Counted is from when an event was due and nobody took it, not from when it came: one that fails again and again waits
 * for its next attempt, and does not speak for the others.
 */
export class Backlog {
  readonly #parts: BacklogParts
  #dueSince: ReadonlyMap<string, number> = new Map()
  #lookedAt = -Infinity
  #looking = false

  constructor(parts: BacklogParts) {
    this.#parts = parts
  }

  /** Milliseconds; 0 while nothing of the source waits, and when that is not known. */
  ageOf(source: string, now: number): number {
    const since = Math.abs(now - this.#lookedAt)
    if (since >= interval && !this.#looking) void this.#look(now)
    const due = since < believed ? this.#dueSince.get(source) : undefined
    return due === undefined ? 0 : Math.max(0, now - due)
  }

  async #look(now: number): Promise<void> {
    this.#looking = true
    try {
      this.#dueSince = await this.#read(now)
      this.#lookedAt = now
    } catch (error) {
      // Whoever stores the event finds out by itself, and answers for it.
      this.#parts.onError(error)
    } finally {
      this.#looking = false
    }
  }

  async #read(now: number): Promise<Map<string, number>> {
    const dueSince = new Map<string, number>()
    let after = beforeAll
    for (let page = 0; page < mostPages; page += 1) {
      const kinds = await this.#parts.store.pendingKinds(after, perRound, now)
      for (const { source, dueAt } of kinds)
        dueSince.set(source, Math.min(dueAt, dueSince.get(source) ?? dueAt))
      if (kinds.length < perRound) break
      after = kinds.at(-1)!
    }
    return dueSince
  }
}
