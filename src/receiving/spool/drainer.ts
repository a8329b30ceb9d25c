import { sleep, type Clock } from '../../runtime/clock.ts'
import type { Portion, Spool } from './spool.ts'
import { DatabaseAway, storePortion, type StoreParts } from './store-portion.ts'

/** Events in one portion. */
const step = 2_000
/** Milliseconds between two drains, and after a failure. */
const [interval, pauseAfterError] = [5_000, 1_000]

const notMoved = 'webhooks could not be moved from the spool into the database'

export interface DrainerParts extends StoreParts {
  spool: Spool
  /** Whether the database is believed to answer. */
  present: () => boolean
  /** Opens the spool of a process that ended and was not started again. */
  openAbandoned?: () => Promise<Spool | undefined>
  clock: Clock
}

/** Moves spooled events into the database, oldest first. A portion may be moved twice: the insert ignores known events. */
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
   * Moves the oldest events, after a drain in progress, to see whether the database takes them. Failures of the spool are logged
   * only: they say nothing about the database.
   * @throws DatabaseAway
   */
  async step(): Promise<void> {
    const { signal } = this.#stopping
    try {
      await this.#inTurn(() => this.#moveOldest())
    } catch (error) {
      if (error instanceof DatabaseAway) throw error
      if (!signal.aborted) this.#parts.log.warn({ err: error }, notMoved)
    }
  }

  async #moveOldest(): Promise<void> {
    const { spool } = this.#parts
    const portion = await spool.read(step)
    if (portion.events.length === 0) return
    await storePortion(portion, spool, this.#parts)
    this.#moved += portion.events.length
    await portion.remove()
  }

  /** Lets one work at a time read the spool: another one would get later events, and might store them first. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async #run(): Promise<void> {
    const { clock, log, present } = this.#parts
    const { signal } = this.#stopping
    while (!signal.aborted) {
      let pause = interval
      try {
        // While the database is away, a stop must not wait for a check of it.
        if (present()) await this.#inTurn(() => this.#drainOwn())
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

  #drainOwn(): Promise<void> {
    return this.#drain(this.#parts.spool, (count) => (this.#moved += count))
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
        await storePortion(portion, spool, this.#parts)
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
}
