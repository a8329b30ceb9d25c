import type { Clock } from '../../runtime/clock.ts'
import { WakeUps } from '../../runtime/repeated-pass.ts'
import { Problem } from '../../errors.ts'
import type { SpoolStatus, ModuleParts } from '../../http/service-module.ts'
import { isRefusedValue, StorageUnavailable, withinTime } from '../../storage/unavailable.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { InsertEvents } from '../endpoint/endpoint.ts'
import type { IncomingEvent } from '../queue/store.ts'
import { EntryTooLarge, type Spool, type SpoolEntry } from './spool.ts'

/**
 * Milliseconds that a commit may take before its events go to the spool: senders give up after 5 to 10 s. If the commit succeeds
 * later, the database ignores the spooled events.
 */
const commitTimeout = 2_000
/** Milliseconds between two checks whether the database is back. */
const probeInterval = 500
/** Milliseconds between two drains of the spool, and after one that failed. */
const [drainInterval, pauseAfterError] = [5_000, 1_000]
/** Entries that are read and stored together, and milliseconds that the database may take to store them. */
const [step, drainWithin] = [2_000, 10_000]
/** Milliseconds between two log lines about a full spool. */
const logFullEvery = 10_000

type EventSpool = Spool<IncomingEvent>

interface FallbackParts extends Pick<ModuleParts, 'clock' | 'log'> {
  spool: EventSpool
  /** Stores events in the database within so many milliseconds, each at most once per (source, event id). @throws StorageUnavailable */
  store: (events: readonly IncomingEvent[], within: number) => Promise<void>
  /** Checks that the database answers. @throws StorageUnavailable */
  ping: () => Promise<void>
  /** Counts events that went to the spool, or that it did not take. */
  count: (outcome: 'stored' | 'refused', events: number) => void
  /** Opens the spool of a process that ended and was not started again. */
  openAbandoned?: () => Promise<EventSpool | undefined>
}

/** The database is unavailable or rejects all events. Errors of the spool have other classes. */
class DatabaseAway extends Error {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause })
    this.name = 'DatabaseAway'
  }
}

/**
 * Stores received events in the database or, while the database is unavailable, in the spool. Then no request waits for the
 * database: it is checked in the background, and counts as available when it has stored the first events of the spool, or when it
 * answers and the spool cannot be read.
 *
 * One pass at a time checks the database and moves spooled events into it, oldest first, because `read` returns the same entries until
 * they are removed. An event may be moved twice: the insert ignores known events.
 */
export class Fallback implements SpoolStatus {
  readonly #parts: FallbackParts
  readonly #passes: WakeUps
  #away = false
  #loggedFullAt = -Infinity
  /** Events that were moved since the spool was empty. */
  #moved = 0

  constructor(parts: FallbackParts) {
    this.#parts = parts
    this.#passes = new WakeUps(parts.clock, () => this.#pass())
  }

  /** Whether the database is known to be unavailable. */
  get away(): boolean {
    return this.#away
  }

  start(): void {
    this.#passes.start()
  }

  /** @throws Problem `overloaded` if the spool is full; StorageUnavailable if it cannot be written either */
  readonly insert: InsertEvents = async (events) => {
    if (!this.#away) {
      try {
        await this.#storeInTime(events)
        return
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) throw error
        this.#useSpool(error)
      }
    }
    await this.#append(events)
  }

  /** @throws StorageUnavailable if the spool does not respond */
  async state(): ReturnType<SpoolStatus['state']> {
    const { entries, oldest, full = false } = await this.#parts.spool.size()
    return { events: entries, oldest: oldest?.getTime(), full }
  }

  /** Starts no further batch, and waits for the current one unless the database is unavailable. */
  async stop(): Promise<void> {
    const ended = this.#passes.stop()
    if (!this.#away) await ended
  }

  /** After the time-out the outcome does not matter. */
  #storeInTime(events: readonly IncomingEvent[]): Promise<void> {
    const { store, clock } = this.#parts
    return withinTime(
      clock,
      commitTimeout,
      store(events, commitTimeout),
      `a commit took longer than ${commitTimeout} ms`,
    )
  }

  async #append(events: readonly IncomingEvent[]): Promise<void> {
    try {
      await this.#parts.spool.append(events)
      this.#parts.count('stored', events.length)
    } catch (error) {
      // The halves of the batch follow, and are counted.
      if (error instanceof EntryTooLarge) throw error
      this.#parts.count('refused', events.length)
      if (error instanceof Problem && error.code === 'overloaded') this.#logFull()
      throw error
    }
  }

  #logFull(): void {
    const { clock, log } = this.#parts
    const now = clock.now()
    if (Math.abs(now - this.#loggedFullAt) < logFullEvery) return
    this.#loggedFullAt = now
    log.error(
      'the spool is full: webhooks get 503 until the database is back. max_bytes of SPOOL_URL limits its size',
    )
  }

  #useSpool(error: StorageUnavailable): void {
    if (this.#away || this.#passes.stopped) return
    this.#away = true
    this.#parts.log.warn(
      { err: error },
      'the database is unavailable: webhooks are acknowledged and stored in the spool',
    )
    this.#passes.in(probeInterval)
  }

  /** Does not reject. */
  async #pass(): Promise<void> {
    if (this.#away && !(await this.#isBack())) return this.#passes.in(probeInterval)
    let pause = drainInterval
    try {
      await this.#drain(this.#parts.spool)
      if (this.#mayDrain) this.#logEmpty()
      if (this.#mayDrain) await this.#drainAbandoned()
    } catch (error) {
      this.#logNotMoved(error)
      pause = pauseAfterError
    }
    this.#passes.in(pause)
  }

  async #isBack(): Promise<boolean> {
    const { log, ping, spool } = this.#parts
    try {
      await ping()
      // A server that answers may still take no writes, as with a full disk. A spool that fails must not keep webhooks from it.
      await this.#moveOldest(spool).catch((error: unknown) => {
        if (error instanceof DatabaseAway) throw error
        this.#logNotMoved(error)
      })
    } catch (error) {
      log.debug({ err: error }, 'the database is not back yet')
      return false
    }
    if (this.#passes.stopped) return false
    this.#away = false
    log.info('the database is available again: webhooks go to it, and those in the spool are moved into it')
    return true
  }

  get #mayDrain(): boolean {
    return !this.#away && !this.#passes.stopped
  }

  #logNotMoved(error: unknown): void {
    if (!this.#passes.stopped)
      this.#parts.log.warn({ err: error }, 'webhooks could not be moved from the spool into the database')
  }

  #logEmpty(): void {
    if (this.#moved === 0) return
    this.#parts.log.info({ moved: this.#moved }, 'the spool is empty: its webhooks are in the database')
    this.#moved = 0
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
    while (this.#mayDrain) if ((await this.#moveOldest(spool)) === 0) return
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
      await this.#parts.store(
        entries.map(({ content }) => content),
        drainWithin,
      )
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
    await spool.remove([id], messageOf(error))
    const { source, eventId, type } = content
    this.#parts.log.error(
      { err: error, source, eventId, type },
      'the database rejects an acknowledged webhook: it is set aside in the spool',
    )
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Adds the metrics of a spool. They are NaN while the spool does not answer. */
export function measureSpool(spool: SpoolStatus, metrics: Metrics, clock: Clock, log: Log): void {
  const stateOf = async (): ReturnType<SpoolStatus['state']> => {
    try {
      return await spool.state()
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error
      log.warn({ err: error }, 'the contents of the spool could not be read')
      return { events: Number.NaN, oldest: Number.NaN, full: false }
    }
  }
  metrics.gauge(
    'postern_spool_events',
    'Acknowledged webhooks in the spool, not yet in the database',
    [],
    async (gauge) => gauge.set((await stateOf()).events),
  )
  metrics.gauge(
    'postern_spool_oldest_seconds',
    'Age of the oldest webhook in the spool; 0 when it is empty',
    [],
    async (gauge) => {
      const { oldest } = await stateOf()
      gauge.set(oldest === undefined ? 0 : (clock.now() - oldest) / 1000)
    },
  )
  metrics.gauge(
    'postern_spool_away',
    '1 while webhooks go to the spool because the database is unavailable',
    [],
    (gauge) => gauge.set(spool.away ? 1 : 0),
  )
}
