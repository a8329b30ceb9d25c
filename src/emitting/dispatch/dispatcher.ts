import { NotSent } from '../../network/exchange.ts'
import type { Clock, Random, Scheduler } from '../../runtime/clock.ts'
import { InFlight } from '../../runtime/in-flight.ts'
import { Progress } from '../../runtime/progress.ts'
import type { Worker } from '../../runtime/worker.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import { evaluateAttempt, type AttemptOutcome } from '../attempt/attempt-outcome.ts'
import { withheld, withoutPayload, type Attempt, type AttemptResult } from '../attempt/attempt.ts'
import { isFor } from '../events/audience.ts'
import { Completions, type SideEffects } from './completions.ts'
import type { Destination, Destinations } from './destinations.ts'
import type { Health } from '../subscribers/health.ts'
import type { DeliveryMetrics } from '../metrics.ts'
import type { OperationalEvents } from './operational-events.ts'
import { Prefetcher } from './prefetcher.ts'
import type { ClaimedDelivery, CommittedDelivery, DeliveryStore, EventPayload } from '../store.ts'
import {
  classifyResponse,
  type QueuedDelivery,
  type ResponseClass,
  type SubscriberQueue,
} from './subscriber-queue.ts'

/** The most attempts in flight in one process. */
const maxInFlight = 500
/** The most attempts that are in flight or not recorded yet. After a crash they are made once more. */
export const maxUnrecorded = 1_000
/** With so many attempts in flight, a subscriber gets another one only if none of its own is in flight. */
const scarceFrom = 250
/** The most attempts in flight to subscribers that did not respond lately, for all of them together. */
const maxUnresponsive = 200
/** Attempts that one queue starts before the next queue has its turn. */
const attemptsPerTurn = 4
/** Queues that are tried in a row without a start before the rest waits for the next event. */
const maxQueuesSkipped = 64
/** Milliseconds between two scans when no notification arrives. */
const pollInterval = 1_000

export interface DispatcherParts {
  database: Pick<Database, 'signal' | 'onSignal' | 'publish' | 'onPublished' | 'onSetBack' | 'transaction'>
  store: DeliveryStore
  destinations: Pick<Destinations, 'open'>
  attempt: Attempt
  /** Counts outcomes for GET /subscribers/{id}/health. */
  health: Pick<Health, 'record'>
  operationalEvents: Pick<OperationalEvents, 'sideEffects' | 'publish'>
  metrics: DeliveryMetrics
  clock: Clock
  /** The event loop. Default: that of the process. */
  scheduler?: Scheduler
  random: Random
  log: Log
  /** Closes the connections, after the last attempt. */
  close: () => Promise<void>
}

/** An attempt that has ended. */
interface Ended {
  readonly delivery: ClaimedDelivery
  readonly outcome: AttemptOutcome
  readonly now: number
  readonly attempt: AttemptResult
  readonly effects?: SideEffects | undefined
}

const dead: AttemptOutcome = { kind: 'dead' }

/** Ends the use of a place for an attempt. Only the first call has an effect. */
type ReleasePlace = (response: ResponseClass) => void

/**
 * Makes the attempts of the queues that this process owns. Queues take turns, and none gets more than its share of the free
 * places. No transaction is open during an attempt.
 */
export class Dispatcher implements Worker {
  readonly name = 'deliveries'
  readonly #parts: DispatcherParts
  readonly #completions: Completions
  readonly #prefetcher: Prefetcher
  readonly #progress: Progress
  /** Queues with waiting deliveries that may start one, in the order of their turns. */
  readonly #ready = new Set<SubscriberQueue>()
  readonly #inFlight = new InFlight()
  readonly #timers = new Set<() => void>()
  #placesTaken = 0
  #unresponsiveTaken = 0
  /** Aborts the attempts in flight. */
  #abort = new AbortBroadcast()
  #unsubscribe: (() => void)[] = []
  #stopped = true
  readonly #maySend = (): boolean => this.#parts.store.leaseValid()

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#progress = new Progress(parts.clock)
    this.#completions = new Completions({
      ...parts,
      publish: (tx, events) => parts.operationalEvents.publish(tx, events),
      onRecorded: () => this.#startReady(),
    })
    this.#prefetcher = new Prefetcher({
      ...parts,
      onFilled: (queue) => this.#queueReady(queue),
      notifyOwner: (subscriberId) => parts.database.publish('subscriber_queue', subscriberId),
      onLost: () => {
        this.#abort.abort(new Error('this process lost its subscriber queues'))
        this.#abort = new AbortBroadcast()
      },
      onRegained: () => this.#startReady(),
      onProgress: () => this.#progress.made(),
    })
  }

  start(): void {
    this.#stopped = false
    this.#progress.made()
    const { database } = this.#parts
    this.#unsubscribe = [
      database.onSignal('deliveries', () => this.wake()),
      database.onPublished('subscriber', (id) => this.changed(id)),
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
    for (const cancel of this.#timers) cancel()
    const giveUp = (): void => {
      this.#abort.abort(new Error('the service is stopping'))
      this.#completions.abandon()
    }
    if (deadline.aborted) giveUp()
    else deadline.addEventListener('abort', giveUp, { once: true })
    await this.#prefetcher.stop()
    await this.#inFlight.drained()
    deadline.removeEventListener('abort', giveUp)
    await this.#parts.store.releaseSession()
    await this.#parts.close()
  }

  #poll(): void {
    this.#prefetcher.refresh()
    this.#after(pollInterval, () => this.#poll())
  }

  #after(delay: number, then: () => void): void {
    if (this.#stopped) return
    const cancel = this.#parts.clock.after(delay, () => {
      this.#timers.delete(cancel)
      if (!this.#stopped) then()
    })
    this.#timers.add(cancel)
  }

  #queueReady(queue: SubscriberQueue): void {
    this.#ready.add(queue)
    this.#startReady()
  }

  get #freePlaces(): number {
    return Math.min(maxInFlight, maxUnrecorded - this.#completions.unrecorded) - this.#placesTaken
  }

  /** Starts attempts while there are free places, one queue after the other. */
  #startReady(): void {
    const { clock, store } = this.#parts
    // Without a valid lease other processes may own the queues. `onRegained` continues here.
    if (this.#ready.size === 0 || !store.leaseValid()) return
    const now = clock.now()
    for (let skipped = 0; skipped < maxQueuesSkipped && this.#freePlaces > 0 && !this.#stopped;) {
      const [queue] = this.#ready
      if (!queue) return
      this.#ready.delete(queue)
      const started = this.#startSome(queue, now)
      if (queue.waiting > 0 && this.#staysReady(queue, now)) this.#ready.add(queue)
      skipped = started ? 0 : skipped + 1
      if (!started && skipped >= this.#ready.size) return
    }
  }

  /** Starts what one turn of the queue allows. Returns whether an attempt started. */
  #startSome(queue: SubscriberQueue, now: number): boolean {
    const scarce = this.#placesTaken >= scarceFrom
    const share = this.#ready.size === 0 ? maxInFlight : attemptsPerTurn
    let count = Math.min(queue.capacity(now, scarce), share, this.#freePlaces)
    if (queue.unresponsive) count = Math.min(count, maxUnresponsive - this.#unresponsiveTaken)
    let started = false
    for (; count > 0; count -= 1) {
      const next = queue.startNext(now)
      if (!next) break
      this.#start(next, queue, queue.destination!)
      started = true
    }
    if (this.#prefetcher.isLow(queue)) this.#prefetcher.requestRefill(queue)
    return started
  }

  /** Whether the queue waits for a place. If not, the end of one of its attempts, or a timer, makes it ready again. */
  #staysReady(queue: SubscriberQueue, now: number): boolean {
    if (queue.capacity(now) > 0) return true
    const wait = queue.waitTime(now)
    if (wait !== undefined && !queue.timerPending) {
      queue.timerPending = true
      this.#after(Math.min(wait, pollInterval), () => {
        queue.timerPending = false
        if (queue.waiting > 0) this.#queueReady(queue)
      })
    }
    return false
  }

  #start(queued: QueuedDelivery, queue: SubscriberQueue, destination: Destination): void {
    const { unresponsive } = queue
    this.#placesTaken += 1
    if (unresponsive) this.#unresponsiveTaken += 1
    let released = false
    const release: ReleasePlace = (response) => {
      if (released) return
      released = true
      this.#placesTaken -= 1
      if (unresponsive) this.#unresponsiveTaken -= 1
      queue.finish(response, this.#parts.clock.now())
      if (queue.waiting > 0) this.#ready.add(queue)
      this.#startReady()
    }
    void this.#inFlight.add(this.#process(queued, queue, destination, release))
  }

  /** Never rejects. */
  async #process(
    queued: QueuedDelivery,
    queue: SubscriberQueue,
    destination: Destination,
    release: ReleasePlace,
  ): Promise<void> {
    const { id } = queued.delivery
    let sent = true
    try {
      await this.#deliver(queued, queue, destination, release)
    } catch (error) {
      if (error instanceof NotSent) sent = false
      else
        this.#parts.log.error(
          { err: error, deliveryId: id },
          'an attempt failed because of an internal error',
        )
    }
    release('aborted')
    this.#prefetcher.forget(id)
    if (destination.ordered || !sent) this.#prefetcher.markDue(queue.id)
  }

  /**
   * Makes one attempt and records its outcome. The place is released when the exchange ends, before the outcome is recorded. An
   * outcome with side effects keeps it until then: recording those takes longer, and must not fall behind the exchanges.
   */
  async #deliver(
    { delivery, payload }: QueuedDelivery,
    queue: SubscriberQueue,
    destination: Destination,
    release: ReleasePlace,
  ): Promise<void> {
    const { attempt, clock, operationalEvents, random } = this.#parts
    const abort = this.#abort
    let event: EventPayload | undefined
    let result: AttemptResult
    try {
      event = payload ?? (await this.#prefetcher.payloads.one(delivery))
      if (!event || !mayReceive(destination, event)) {
        release('aborted')
        const now = clock.now()
        const attempt = event ? withheld(now) : withoutPayload(now)
        return await this.#record({ delivery, outcome: dead, now, attempt })
      }
      const { target, timeout, httpSignature, owner } = destination
      const owned = owner !== null
      const keys = destination.keysAt(clock.now())
      const maySend = this.#maySend
      result = await attempt({ target, owned, event, keys, httpSignature, timeout, maySend }, abort)
    } catch (error) {
      // The delivery is still pending in the table, so it is attempted again.
      if (abort.reason) return
      throw error
    }
    const outcome = evaluateAttempt(result, destination.schedule, delivery.begun, random)
    this.#count(destination, outcome, result)
    const effects = operationalEvents.sideEffects({ delivery, destination, event, outcome, result })
    const recorded = this.#record({ delivery, outcome, now: clock.now(), attempt: result, effects })
    const response = classifyResponse(result)
    if (!effects) release(response)
    await recorded
    release(response)
    this.#afterRecorded(delivery, destination, outcome, result)
  }

  #count({ id }: Destination, { kind }: AttemptOutcome, { durationMs }: AttemptResult): void {
    const { health, metrics } = this.#parts
    metrics.attempted(kind, durationMs)
    health.record(id, kind === 'delivered', durationMs)
  }

  #record({ delivery, outcome, now, attempt, effects }: Ended): Promise<void> {
    const completion =
      outcome.kind === 'retry'
        ? { delivery, status: 'pending' as const, dueAt: now + outcome.delay, finishedAt: null, attempt }
        : { delivery, status: outcome.kind, dueAt: now, finishedAt: now, attempt }
    return this.#completions.add(completion, effects)
  }

  #afterRecorded(
    { id: deliveryId, begun: attempts }: ClaimedDelivery,
    { id: subscriberId }: Destination,
    outcome: AttemptOutcome,
    { error, failure }: AttemptResult,
  ): void {
    // Polling would find a later retry in time.
    if (outcome.kind === 'retry' && outcome.delay < pollInterval)
      this.#after(outcome.delay + 1, () => this.#prefetcher.markDue(subscriberId))
    if (outcome.kind === 'dead')
      this.#parts.log.warn(
        { deliveryId, subscriberId, attempts, error, failure },
        'a delivery was dead-lettered',
      )
  }
}

/** False for deliveries that remain from a change of the subscriber's owner, which earlier versions allowed. */
function mayReceive({ owner }: Destination, { audience }: EventPayload): boolean {
  return owner === null || isFor(audience, owner, false)
}
