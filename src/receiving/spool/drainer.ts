import { sleep, type Clock } from '../../runtime/clock.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Log } from '../../telemetry/log.ts'
import { isRefusedValue } from './refused-value.ts'
import type { Portion, Spool } from './spool.ts'

/** Events in one portion. */
const step = 2_000
/** Milliseconds between two drains, and after a failure. */
const [interval, pauseAfterError] = [5_000, 1_000]

const notMoved = 'webhooks could not be moved from the spool into the database'

/** The database, and not the spool, does not answer. */
export class DatabaseAway extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
    this.name = 'DatabaseAway'
  }
}

export interface DrainerParts {
  spool: Spool
  /** Stores events in the database, each at most once per (source, event id). */
  store: (events: readonly IncomingEvent[]) => Promise<void>
  /** Whether the database is believed to answer. */
  present: () => boolean
  /** Opens the spool of a process that ended and was not started again. */
  openAbandoned?: () => Promise<Spool | undefined>
  clock: Clock
  log: Log
}

/** Moves spooled events into the database, oldest first. A portion may be moved twice: the insert ignores known events. */
export class Drainer {
  readonly #parts: DrainerParts
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  #wake: (() => void) | undefined
  #moved = 0

  constructor(parts: DrainerParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Starts a drain now. */
  wake(): void {
    this.#wake?.()
  }

  /** Begins no further portion, and resolves when the current one has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#wake?.()
    await this.#running
  }

  /**
   * Moves the oldest events, to see whether the database takes them. Failures of the spool are logged only: they say nothing about
   * the database.
   * @throws DatabaseAway
   */
  async step(): Promise<void> {
    const { spool, log } = this.#parts
    try {
      const portion = await spool.read(step)
      if (portion.events.length === 0) return
      await this.#move(spool, portion)
      this.#moved += portion.events.length
      await portion.remove()
    } catch (error) {
      if (error instanceof DatabaseAway) throw error
      log.warn({ err: error }, notMoved)
    }
  }

  async #run(): Promise<void> {
    const { clock, log, present } = this.#parts
    const { signal } = this.#stopping
    while (!signal.aborted) {
      let pause = interval
      try {
        await this.#drain(this.#parts.spool, (count) => (this.#moved += count))
        this.#logEmpty()
        if (present() && !signal.aborted) await this.#drainAbandoned()
      } catch (error) {
        if (signal.aborted) return
        log.warn({ err: error }, notMoved)
        pause = pauseAfterError
      }
      await this.#sleep(clock, pause)
    }
  }

  #logEmpty(): void {
    if (this.#moved === 0 || !this.#parts.present()) return
    this.#parts.log.info({ moved: this.#moved }, 'the spool is empty: its webhooks are in the database')
    this.#moved = 0
  }

  /** Resolves after so many milliseconds, or at `wake`. */
  async #sleep(clock: Clock, ms: number): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const woken = new AbortController()
    this.#wake = () => woken.abort()
    await sleep(clock, ms, woken.signal).catch(() => undefined)
    this.#wake = undefined
  }

  async #drainAbandoned(): Promise<void> {
    const spool = await this.#parts.openAbandoned?.()
    if (!spool) return
    let moved = 0
    try {
      await this.#drain(spool, (count) => (moved += count))
    } finally {
      await spool.close()
    }
    this.#parts.log.info({ moved }, 'webhooks were moved that another process had left in its spool')
  }

  /** Moves all events while the database answers. During the insert of a portion, the next is read and the one before is removed. */
  async #drain(spool: Spool, onMoved: (count: number) => void): Promise<void> {
    let next: Promise<Portion> | undefined
    let removal = Promise.resolve()
    try {
      while (this.#parts.present() && !this.#stopping.signal.aborted) {
        const isAhead = next !== undefined
        const portion = await (next ?? spool.read(step))
        next = undefined
        if (portion.events.length === 0) {
          // Events may have come, or been given back, after this read ahead.
          await removal
          if (isAhead) continue
          return
        }
        next = spool.read(step)
        next.catch(() => undefined)
        await this.#move(spool, portion)
        onMoved(portion.events.length)
        const earlier = removal
        removal = portion.remove()
        removal.catch(() => undefined)
        await earlier
      }
      await removal
    } finally {
      await next?.then((portion) => portion.release()).catch(() => undefined)
      await removal.catch(() => undefined)
    }
  }

  /** Stores a portion, or gives it back. */
  async #move(spool: Spool, portion: Portion): Promise<void> {
    try {
      await this.#store(spool, portion.events)
    } catch (error) {
      await releaseEvents(portion, error)
    }
  }

  /** Sets an event aside that the database refuses, so that it does not block the others. Halving finds it. */
  async #store(spool: Spool, events: readonly IncomingEvent[]): Promise<void> {
    try {
      await this.#parts.store(events)
    } catch (error) {
      if (error instanceof StorageUnavailable) throw new DatabaseAway(error)
      if (!isRefusedValue(error)) throw error
      if (events.length === 1) {
        await this.#setAside(spool, events[0]!, error)
        return
      }
      const middle = Math.ceil(events.length / 2)
      await this.#store(spool, events.slice(0, middle))
      await this.#store(spool, events.slice(middle))
    }
  }

  async #setAside(spool: Spool, event: IncomingEvent, error: unknown): Promise<void> {
    const { source, eventId, type } = event
    await spool.setAside(event, error instanceof Error ? error.message : String(error))
    this.#parts.log.error(
      { err: error, source, eventId, type },
      'the database refuses an acknowledged webhook: it is set aside in the spool',
    )
  }
}

/** @throws the error with which the portion failed. */
async function releaseEvents(portion: Portion, error: unknown): Promise<never> {
  await portion.release().catch((second: unknown) => {
    const both = new AggregateError([error, second], 'spooled webhooks could be neither moved nor given back')
    throw error instanceof DatabaseAway ? new DatabaseAway(both) : both
  })
  throw error
}
