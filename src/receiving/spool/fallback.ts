import { sleep, type Clock } from '../../runtime/clock.ts'
import { Problem } from '../../errors.ts'
import type { SpoolStatus } from '../../http/room.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Log } from '../../telemetry/log.ts'
import type { InsertEvents } from '../acceptor.ts'
import type { IncomingEvent } from '../incoming.ts'
import { Drainer } from './drainer.ts'
import { EventTooLarge, type Spool, type SpoolState } from './spool.ts'

/**
 * Milliseconds that a commit may take before its events go to the spool instead: senders give up after 5 to 10 s. The commit may
 * happen all the same; then the events are moved in vain, since the database knows them.
 */
const patience = 2_000
/** Milliseconds between two questions whether the database is back. */
const probeInterval = 500
/** Milliseconds that the database may take to store a portion of the spool. */
const drainWithin = 10_000
/** Milliseconds between two lines of the log about a spool that is full. */
const tellFullEvery = 10_000

export interface FallbackParts {
  spool: Spool
  /** Stores events in the database within so many milliseconds. @throws StorageUnavailable */
  keep: (events: readonly IncomingEvent[], within: number) => Promise<void>
  /** Whether the database takes writes. @throws StorageUnavailable */
  ping: () => Promise<void>
  /** Opens a spool that another process left behind. */
  openAbandoned?: () => Promise<Spool | undefined>
  clock: Clock
  log: Log
}

/**
 * Stores received events in the database or, while that does not answer, in the spool. Once the database is known to be
 * away nothing waits for it: it is asked in the background, and counts as back when it has taken the first events of the spool.
 */
export class Fallback implements SpoolStatus {
  readonly #parts: FallbackParts
  readonly #drainer: Drainer
  readonly #stopping = new AbortController()
  #away = false
  #toldFullAt = -Infinity

  constructor(parts: FallbackParts) {
    this.#parts = parts
    const { spool, openAbandoned, clock, log } = parts
    this.#drainer = new Drainer({
      spool,
      store: (events) => parts.keep(events, drainWithin),
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

  /** Begins to move what lies in the spool. */
  start(): void {
    this.#drainer.start()
  }

  /** @throws Problem `overloaded` when the spool is full; StorageUnavailable when it does not take them either. */
  readonly keep: InsertEvents = async (events) => {
    if (!this.#away) {
      try {
        await this.#keepInTime(events)
        return
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) throw error
        this.#leave(error)
      }
    }
    await this.#append(events)
  }

  /** What lies in the spool. @throws StorageUnavailable when that cannot be known now. */
  state(): Promise<SpoolState> {
    return this.#parts.spool.state()
  }

  /** Ends what goes on in the background, which may be left at any point. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#drainer.stop()
  }

  async #keepInTime(events: readonly IncomingEvent[]): Promise<void> {
    const { keep, clock } = this.#parts
    const late = Promise.withResolvers<never>()
    const cancel = clock.after(patience, () =>
      late.reject(new StorageUnavailable(new Error(`a commit took longer than ${patience} ms`))),
    )
    try {
      // After that time its outcome does not matter any more; Promise.race has seen to its rejection.
      await Promise.race([keep(events, patience), late.promise])
    } finally {
      cancel()
    }
  }

  async #append(events: readonly IncomingEvent[]): Promise<void> {
    try {
      await this.#parts.spool.append(events)
    } catch (error) {
      // The limit of bodies is above what the spool takes: the sender is to try again when the database is back.
      if (error instanceof EventTooLarge && events.length === 1) throw new StorageUnavailable(error)
      if (error instanceof Problem && error.code === 'overloaded') this.#tellFull()
      throw error
    }
  }

  #tellFull(): void {
    const { clock, log } = this.#parts
    const now = clock.now()
    if (Math.abs(now - this.#toldFullAt) < tellFullEvery) return
    this.#toldFullAt = now
    log.error(
      'the spool is full: webhooks get 503 until the database is back. max_bytes of SPOOL_URL says how much it holds',
    )
  }

  #leave(error: StorageUnavailable): void {
    if (this.#away || this.#stopping.signal.aborted) return
    this.#away = true
    this.#parts.log.warn(
      { err: error },
      'the database does not answer: webhooks are acknowledged and kept in the spool',
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
    log.info('the database answers again: webhooks go to it, and those in the spool are moved into it')
    this.#drainer.wake()
  }

  async #isBack(): Promise<boolean> {
    try {
      await this.#parts.ping()
      // A server that answers may still take no writes, as with a full disk.
      await this.#drainer.step()
      return true
    } catch (error) {
      this.#parts.log.debug({ err: error }, 'the database is not back yet')
      return false
    }
  }
}
