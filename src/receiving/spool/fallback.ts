import { type Clock, sleep } from '../../runtime/clock.ts'
import { Problem } from '../../errors.ts'
import type { SpoolStatus, ModuleParts } from '../../http/service-module.ts'
import { StorageUnavailable, withinTime } from '../../storage/unavailable.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { InsertEvents } from '../endpoint/endpoint.ts'
import type { IncomingEvent } from '../queue/store.ts'
import { Drainer } from './drainer.ts'
import { EntryTooLarge, type Spool } from './spool.ts'

/**
 * Milliseconds that a commit may take before its events go to the spool: senders give up after 5 to 10 s. If the commit succeeds
 * later, the database ignores the spooled events.
 */
const commitTimeout = 2_000
/** Milliseconds between two checks whether the database is back. */
const probeInterval = 500
/** Milliseconds that the database may take to store a portion of the spool. */
const drainWithin = 10_000
/** Milliseconds between two log lines about a full spool. */
const logFullEvery = 10_000

interface FallbackParts extends Pick<ModuleParts, 'clock' | 'log'> {
  spool: Spool<IncomingEvent>
  /** Stores events in the database within so many milliseconds. @throws StorageUnavailable */
  store: (events: readonly IncomingEvent[], within: number) => Promise<void>
  /** Checks that the database answers. @throws StorageUnavailable */
  ping: () => Promise<void>
  /** Counts events that went to the spool, or that it did not take. */
  count: (outcome: 'stored' | 'refused', events: number) => void
  /** Opens the spool of a process that ended and was not started again. */
  openAbandoned?: () => Promise<Spool<IncomingEvent> | undefined>
}

/**
 * Stores received events in the database or, while it does not answer, in the spool. While the database is away, no request waits
 * for it: it is checked in the background, and counts as back when it has stored the first events of the spool, or when it answers
 * and the spool cannot be read.
 */
export class Fallback implements SpoolStatus {
  readonly #parts: FallbackParts
  readonly #drainer: Drainer
  readonly #stopping = new AbortController()
  #away = false
  #loggedFullAt = -Infinity

  constructor(parts: FallbackParts) {
    this.#parts = parts
    const { spool, openAbandoned, clock, log } = parts
    this.#drainer = new Drainer({
      spool,
      store: (events) => parts.store(events, drainWithin),
      present: () => !this.#away,
      ...(openAbandoned && { openAbandoned }),
      clock,
      log,
    })
  }

  /** Whether the database is known to be away. */
  get away(): boolean {
    return this.#away
  }

  start(): void {
    this.#drainer.start()
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

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#drainer.stop()
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
    if (this.#away || this.#stopping.signal.aborted) return
    this.#away = true
    this.#parts.log.warn(
      { err: error },
      'the database is unavailable: webhooks are acknowledged and stored in the spool',
    )
    void this.#returnWhenBack()
  }

  async #returnWhenBack(): Promise<void> {
    const { clock, log } = this.#parts
    const { signal } = this.#stopping
    do await sleep(clock, probeInterval, signal).catch(() => undefined)
    while (!signal.aborted && !(await this.#isBack()))
    if (signal.aborted) return
    this.#away = false
    log.info('the database is available again: webhooks go to it, and those in the spool are moved into it')
    this.#drainer.wake()
  }

  async #isBack(): Promise<boolean> {
    try {
      await this.#parts.ping()
      // A server that answers may still take no writes, as with a full disk. A spool that fails must not keep webhooks from it.
      await this.#drainer.step()
      return true
    } catch (error) {
      this.#parts.log.debug({ err: error }, 'the database is not back yet')
      return false
    }
  }
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
