import type { Scheduler } from '../../runtime/clock.ts'
import { Progress, type Worker } from '../../runtime/worker.ts'
import { whenAborted } from '../../runtime/abort-broadcast.ts'
import type { Database } from '../../storage/database.ts'
import { AttemptTurns, pollInterval, Timers } from './attempt-turns.ts'
import { Completions } from './completions.ts'
import { DeliveryAttempts, type DeliveryAttemptsOptions } from './delivery-attempts.ts'
import type { Endpoints } from './endpoints.ts'
import type { OperationalEvents } from './operational-events.ts'
import { Prefetcher } from './prefetcher.ts'
import type { CommittedDelivery, DeliveryStore } from '../store.ts'

interface DispatcherParts extends DeliveryAttemptsOptions {
  database: Pick<Database, 'signal' | 'onSignal' | 'publish' | 'onPublished' | 'onSetBack' | 'inBackground'>
  store: DeliveryStore
  endpoints: Pick<Endpoints, 'open'>
  operationalEvents: Pick<OperationalEvents, 'sideEffects' | 'publish'>
  /** The event loop. Default: that of the process. */
  scheduler?: Scheduler
  /** Closes the connections, after the last attempt. */
  close: () => Promise<void>
}

/**
 * Sends the deliveries of the queues that this process owns: `Prefetcher` reads them, `AttemptTurns` decides which starts next,
 * `DeliveryAttempts` makes the attempts, and `Completions` records their ends.
 */
export class Dispatcher implements Worker {
  readonly name = 'deliveries'
  readonly #parts: DispatcherParts
  readonly #completions: Completions
  readonly #prefetcher: Prefetcher
  readonly #attempts: DeliveryAttempts
  readonly #turns: AttemptTurns
  readonly #progress: Progress
  readonly #timers: Timers
  #unsubscribe: (() => void)[] = []
  #stopped = true

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    const { clock, store, database, operationalEvents } = parts
    this.#timers = new Timers(clock)
    this.#progress = new Progress(clock)
    this.#completions = new Completions({
      ...parts,
      publish: (tx, events) => operationalEvents.publish(tx, events),
      onRecorded: () => this.#turns.startReady(),
    })
    this.#prefetcher = new Prefetcher({
      ...parts,
      onFilled: (queue) => this.#turns.add(queue),
      notifyOwner: (subscriberId) => database.publish('subscriber_queue', subscriberId),
      onLost: () => this.#attempts.abortCurrent(new Error('this process lost its subscriber queues')),
      onRegained: () => this.#turns.startReady(),
      onProgress: () => this.#progress.made(),
    })
    const shared = { prefetcher: this.#prefetcher, completions: this.#completions, timers: this.#timers }
    this.#attempts = new DeliveryAttempts({ ...parts, ...shared })
    this.#turns = new AttemptTurns({
      clock,
      timers: this.#timers,
      mayStart: () => !this.#stopped && store.leaseValid(),
      unrecorded: () => this.#completions.unrecorded,
      start: (queued, queue, endpoint, release) => this.#attempts.start(queued, queue, endpoint, release),
      onTurn: (queue) => this.#prefetcher.refillIfLow(queue),
    })
  }

  start(): void {
    this.#stopped = false
    this.#timers.start()
    this.#progress.made()
    const { database } = this.#parts
    this.#unsubscribe = [
      database.onSignal('deliveries', () => this.wake()),
      database.onPublished('subscriber', (id) => this.changed(id)),
      database.onPublished('payload', (nonce) => this.forgetPayload(Number(nonce))),
      database.onPublished('subscriber_queue', (id) => this.#prefetcher.markDueIfOwned(id)),
      database.onSetBack(() => this.#prefetcher.databaseRestored()),
    ]
    this.#poll()
  }

  /** Milliseconds since scans, or the recording of attempts, last succeeded. */
  sinceRound(): number {
    return Math.max(this.#progress.age, this.#completions.failingFor)
  }

  oldestDue(): Promise<number | undefined> {
    const busy = new Set<string>()
    for (const { id, inFlight } of this.#prefetcher.queues) if (inFlight > 0) busy.add(id)
    return this.#parts.store.oldestDue(this.#parts.clock.now(), busy)
  }

  /** Starts a scan for due deliveries. */
  wake(): void {
    if (!this.#stopped) this.#prefetcher.scan()
  }

  /** Called when a subscriber was changed by any process: starts none of its deliveries before it is read again. */
  changed(subscriberId: string): void {
    if (!this.#stopped) this.#prefetcher.changed(subscriberId)
  }

  /** Called when any process has removed a payload: no further attempt sends it. */
  forgetPayload(nonce: number): void {
    this.#prefetcher.payloads.forget(nonce)
  }

  /** Increases with each queue that this process claims. See `CommittedDelivery`. */
  get generation(): number {
    return this.#prefetcher.generation
  }

  /**
   * Starts deliveries that were just committed without reading them.
   * @param offered by event; `undefined` if the deliveries of an event are not known, which starts a scan
   */
  offer(offered: readonly (readonly CommittedDelivery[] | undefined)[]): void {
    const known = offered.flatMap((some) => some ?? [])
    const complete = !offered.includes(undefined)
    // A stopped process does not know which process owns the queues.
    if (this.#stopped || !complete) this.#parts.database.signal('deliveries')
    if (!this.#stopped) this.#prefetcher.offer(known)
  }

  /** Waits for the attempts in flight until the deadline, then aborts them. */
  async stop(deadline: AbortSignal): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#timers.stop()
    const forget = whenAborted(deadline, () => {
      this.#attempts.abort(new Error('the service is stopping'))
      this.#completions.abandon()
    })
    await this.#prefetcher.stop()
    await this.#attempts.drained()
    forget()
    await this.#parts.store.releaseSession()
    await this.#parts.close()
  }

  #poll(): void {
    this.#prefetcher.refresh()
    this.#timers.after(pollInterval, () => this.#poll())
  }
}
