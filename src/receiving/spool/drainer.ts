import { sleep } from '../../runtime/clock.ts'
import { isRefusedValue } from '../../storage/unavailable.ts'
import type { IncomingEvent } from '../queue/store.ts'
import type { Spool, SpoolEntry } from './spool.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** Entries that are read and stored together. */
const step = 2_000
/** Milliseconds between two drains, and after a failure. */
const [interval, pauseAfterError] = [5_000, 1_000]

const notMoved = 'webhooks could not be moved from the spool into the database'

type EventSpool = Spool<IncomingEvent>

interface DrainerParts extends Pick<ModuleParts, 'clock' | 'log'> {
  spool: EventSpool
  /** Stores events in the database, each at most once per (source, event id). */
  store: (events: readonly IncomingEvent[]) => Promise<void>
  /** Whether the database is believed to be available. */
  present: () => boolean
  /** Opens the spool of a process that ended and was not started again. */
  openAbandoned?: () => Promise<EventSpool | undefined>
}

/** The database is unavailable or rejects all events. Errors of the spool have other classes. */
class DatabaseAway extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.name = 'DatabaseAway'
  }
}

/** Moves spooled events into the database, oldest first. An event may be moved twice: the insert ignores known events. */
export class Drainer {
  readonly #parts: DrainerParts
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  #wake: (() => void) | undefined
  #moved = 0
  /** Ends with the work on the spool that is in progress. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(parts: DrainerParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running ??= this.#run()
  }

  wake(): void {
    this.#wake?.()
  }

  /** Starts no further batch, and resolves when the current one has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#wake?.()
    await this.#running
  }

  /**
   * Moves the oldest events, after a drain in progress, to see whether the database stores them. Failures of the spool are only
   * logged: they say nothing about the database.
   * @throws DatabaseAway
   */
  async step(): Promise<void> {
    const { spool, log } = this.#parts
    try {
      await this.#inTurn(async () => void (await this.#moveOldest(spool)))
    } catch (error) {
      if (error instanceof DatabaseAway) throw error
      if (!this.#stopping.signal.aborted) log.warn({ err: error }, notMoved)
    }
  }

  /** Lets one work at a time read the spool: `read` returns the same entries until they are removed. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async #run(): Promise<void> {
    const { spool, log, present } = this.#parts
    const { signal } = this.#stopping
    while (!signal.aborted) {
      let pause = interval
      try {
        // While the database is unavailable, a stop must not wait for a check of it.
        if (present()) await this.#inTurn(() => this.#drain(spool))
        this.#logEmpty()
        if (present() && !signal.aborted) await this.#drainAbandoned()
      } catch (error) {
        if (signal.aborted) return
        log.warn({ err: error }, notMoved)
        pause = pauseAfterError
      }
      await this.#sleep(pause)
    }
  }

  #logEmpty(): void {
    if (this.#moved === 0 || !this.#parts.present()) return
    this.#parts.log.info({ moved: this.#moved }, 'the spool is empty: its webhooks are in the database')
    this.#moved = 0
  }

  /** Resolves after so many milliseconds, or at `wake`. */
  async #sleep(ms: number): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const woken = new AbortController()
    this.#wake = () => woken.abort()
    await sleep(this.#parts.clock, ms, woken.signal).catch(() => undefined)
    this.#wake = undefined
  }

  async #drainAbandoned(): Promise<void> {
    const spool = await this.#parts.openAbandoned?.()
    if (!spool) return
    const before = this.#moved
    try {
      await this.#drain(spool)
    } finally {
      await spool.close?.()
    }
    const moved = this.#moved - before
    this.#moved = before
    this.#parts.log.info(
      { moved },
      'webhooks that another process left in its spool were moved into the database',
    )
  }

  /** Moves all events while the database is available. */
  async #drain(spool: EventSpool): Promise<void> {
    while (this.#parts.present() && !this.#stopping.signal.aborted)
      if ((await this.#moveOldest(spool)) === 0) return
  }

  async #moveOldest(spool: EventSpool): Promise<number> {
    const entries = await spool.read(step)
    if (entries.length === 0) return 0
    await this.#store(entries, spool)
    this.#moved += entries.length
    await spool.remove(entries.map(({ id }) => id))
    return entries.length
  }

  /** Removes an event that the database rejects, so that it does not block the others. Halving finds it. */
  async #store(entries: readonly SpoolEntry<IncomingEvent>[], spool: EventSpool): Promise<void> {
    try {
      await this.#parts.store(entries.map(({ content }) => content))
    } catch (error) {
      // Another error than of a value, such as a missing table or right, concerns all events.
      if (!isRefusedValue(error)) throw new DatabaseAway(error)
      if (entries.length === 1) return this.#reject(entries[0]!, spool, error)
      const middle = Math.ceil(entries.length / 2)
      await this.#store(entries.slice(0, middle), spool)
      await this.#store(entries.slice(middle), spool)
    }
  }

  async #reject(
    { id, content }: SpoolEntry<IncomingEvent>,
    spool: EventSpool,
    error: unknown,
  ): Promise<void> {
    await spool.remove([id], error instanceof Error ? error.message : String(error))
    const { source, eventId, type } = content
    this.#parts.log.error(
      { err: error, source, eventId, type },
      'the database rejects an acknowledged webhook: it is set aside in the spool',
    )
  }
}
