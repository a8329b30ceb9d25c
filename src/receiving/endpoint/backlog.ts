import type { Clock } from '../../runtime/clock.ts'
import { pagesOfKinds } from '../worker/due-kinds.ts'
import type { EventQueue, Kind } from '../queue/store.ts'

/** Milliseconds between two reads of the event queue, and for which a result is used. */
const interval = 1_000
const validFor = 10_000
/** Pages of kinds that are read at most. */
const mostPages = 10

interface BacklogParts {
  store: Pick<EventQueue, 'pendingKinds'>
  clock: Clock
  /** Whether the events of a kind wait on purpose: then they are no reason to refuse others. */
  isHeld?: (kind: Kind) => boolean
  /** Called before each read. */
  prepare?: () => Promise<void>
  onError: (error: unknown) => void
}

/**
 * How long the oldest due event of each source has waited for a worker. Requests are answered from memory. The event queue is read once
 * a second at most, and no request waits for that. An event that failed counts from its next attempt.
 */
export class Backlog {
  readonly #parts: BacklogParts
  #dueSince: ReadonlyMap<string, number> = new Map()
  #readAt = -Infinity
  /** When the latest read began, also if it failed. */
  #triedAt = -Infinity
  #reading = false

  constructor(parts: BacklogParts) {
    this.#parts = parts
  }

  /** Milliseconds; 0 if no event of the source waits, or if that is unknown. */
  ageOf(source: string, now: number): number {
    if (Math.abs(now - this.#triedAt) >= interval && !this.#reading) void this.#refresh(now)
    const due = Math.abs(now - this.#readAt) < validFor ? this.#dueSince.get(source) : undefined
    return due === undefined ? 0 : Math.max(0, now - due)
  }

  async #refresh(now: number): Promise<void> {
    this.#reading = true
    this.#triedAt = now
    try {
      this.#dueSince = await this.#read(now)
      this.#readAt = now
    } catch (error) {
      this.#parts.onError(error)
    } finally {
      this.#reading = false
    }
  }

  async #read(now: number): Promise<Map<string, number>> {
    const { store, prepare, isHeld } = this.#parts
    await prepare?.()
    const dueSince = new Map<string, number>()
    for await (const kinds of pagesOfKinds(store, now, mostPages))
      for (const kind of kinds) {
        if (isHeld?.(kind)) continue
        const { source, dueAt } = kind
        dueSince.set(source, Math.min(dueAt, dueSince.get(source) ?? dueAt))
      }
    return dueSince
  }
}
