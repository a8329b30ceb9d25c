import type { Clock, Random } from '../runtime/clock.ts'
import type { Worker } from '../runtime/worker.ts'
import { NotSent } from '../network/exchange.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import { Progress } from '../runtime/progress.ts'
import { InFlight } from '../runtime/in-flight.ts'
import { withheld, withoutPayload, type Attempt, type AttemptResult } from './attempt.ts'
import { isFor } from './audience.ts'
import { Completions, type SideEffects } from './completions.ts'
import { AbortBroadcast } from './abort-broadcast.ts'
import type { Destination, Destinations } from './destinations.ts'
import type { Health } from './health.ts'
import {
  classifyResponse,
  type ResponseClass,
  type SubscriberQueue,
  type QueuedDelivery,
} from './subscriber-queue.ts'
import type { DeliveryMetrics } from './metrics.ts'
import type { OperationalEvents } from './operational-events.ts'
import type { ClaimedDelivery, Completion, DeliveryStore, CommittedDelivery, EventPayload } from './store.ts'
import { Prefetcher } from './prefetcher.ts'
import { evaluateAttempt } from './attempt-outcome.ts'

/** Attempts under way in one process. */
const mostRunning = 500
/** Those together with attempts that are over and not yet written down, which a crash would make once more. */
export const mostUnknown = 1_000
/** From here on, subscribers that have something under way get no more of it. */
const scarceFrom = 250
/** Attempts of subscribers that did not answer lately, of all of those. */
const mostSuspect = 200
/** Attempts that one queue begins before it is the next one's turn. */
const perTurn = 4
/** Lanes that are passed over before a place stays free until something ends. */
const mostPassedOver = 64
/** How often the tables are looked at when nothing wakes, in milliseconds. */
const pollEvery = 1_000

export interface DispatcherParts {
  database: Pick<Database, 'signal' | 'onSignal' | 'tell' | 'onTold' | 'onSetBack' | 'transaction'>
  store: DeliveryStore
  destinations: Pick<Destinations, 'open'>
  attempt: Attempt
  /** Counts how attempts end. */
  health: Pick<Health, 'record'>
  /** What follows for the subscriber: it is told, warned or disabled. */
  operationalEvents: Pick<OperationalEvents, 'sideEffects' | 'publish'>
  metrics: DeliveryMetrics
  clock: Clock
  random: Random
  log: Log
  /** Closes the connections, after the last attempt. */
  close: () => Promise<void>
}

/**
 * Attempts what lies in the queues of this process. Fair: queues take turns, and none gets more than its share of what is
 * free. No transaction is open during an attempt.
 */
export class Dispatcher implements Worker {
  readonly name = 'deliveries'
  readonly #parts: DispatcherParts
  readonly #completions: Completions
  readonly #prefetcher: Prefetcher
  readonly #progress: Progress
  /** Lanes that have something waiting and may have a place for it, in turn. */
  readonly #ready = new Set<SubscriberQueue>()
  readonly #inFlight = new InFlight()
  readonly #timers = new Set<() => void>()
  #running = 0
  #suspects = 0
  /** Breaks off what is under way. */
  #cut = new AbortBroadcast()
  #unlisten: (() => void)[] = []
  #stopped = true
  readonly #maySend = (): boolean => this.#parts.store.leaseValid()

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#progress = new Progress(parts.clock)
    this.#completions = new Completions({
      ...parts,
      publish: (...told) => parts.operationalEvents.publish(...told),
      onRecorded: () => this.#pump(),
    })
    this.#prefetcher = new Prefetcher({
      ...parts,
      onFilled: (queue) => this.#fill(queue),
      notifyOwner: (id) => parts.database.tell('lane', id),
      onLost: () => {
        this.#cut.abort(new Error('the queues were lost'))
        this.#cut = new AbortBroadcast()
      },
      onRegained: () => this.#pump(),
      onProgress: () => this.#progress.made(),
    })
  }

  start(): void {
    this.#stopped = false
    this.#progress.made()
    const { database } = this.#parts
    this.#unlisten = [
      database.onSignal('deliveries', () => this.wake()),
      database.onTold('subscriber', (id) => this.changed(id)),
      database.onTold('lane', (id) => this.#prefetcher.markDueIfOwned(id)),
      database.onSetBack(() => this.#prefetcher.databaseRestored()),
    ]
    this.#poll()
  }

  /** Looking for what is due, and writing down what became of it. */
  sinceRound(): number {
    return Math.max(this.#progress.age, this.#completions.failingFor)
  }

  oldestDue(): Promise<number | undefined> {
    const busy = [...this.#prefetcher.queues]
      .filter(({ inFlight: running }) => running > 0)
      .map(({ id }) => id)
    return this.#parts.store.oldestDue(this.#parts.clock.now(), new Set(busy))
  }

  /** Looks for due deliveries now, or again as soon as the look that is under way has ended. */
  wake(): void {
    if (!this.#stopped) this.#prefetcher.scan()
  }

  /** A subscriber was changed, here or by another process: nothing begins for it before it was read again. */
  changed(subscriberId: string): void {
    if (!this.#stopped) this.#prefetcher.changed(subscriberId)
  }

  /** Grows with the queues that this process has taken. */
  get generation(): number {
    return this.#prefetcher.generation
  }

  /**
   * Begins deliveries that were just committed, without reading them.
   * @param offered `undefined` when it is not known which: then they are looked for
   */
  offer(offered: readonly (readonly CommittedDelivery[] | undefined)[]): void {
    const known = offered.flatMap((some) => some ?? [])
    const all = !offered.includes(undefined)
    // Nobody here knows whose queues it is in.
    if (this.#stopped || !all) this.#parts.database.signal('deliveries')
    if (!this.#stopped) this.#prefetcher.offer(known)
  }

  async stop(deadline: AbortSignal): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    for (const unlisten of this.#unlisten) unlisten()
    for (const cancel of this.#timers) cancel()
    const giveUp = (): void => {
      this.#cut.abort(new Error('the service is stopping'))
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
    this.#wakeIn(pollEvery, () => this.#poll())
  }

  #wakeIn(delay: number, then: () => void): void {
    if (this.#stopped) return
    const cancel = this.#parts.clock.after(delay, () => {
      this.#timers.delete(cancel)
      if (!this.#stopped) then()
    })
    this.#timers.add(cancel)
  }

  #fill(queue: SubscriberQueue): void {
    this.#ready.add(queue)
    this.#pump()
  }

  /** How many more attempts may begin. */
  get #places(): number {
    const running = this.#running
    return Math.min(mostRunning, mostUnknown - this.#completions.unrecorded) - running
  }

  /** Begins what waits, one queue after the other, as far as there are places. */
  #pump(): void {
    const { clock, store } = this.#parts
    // Others may have the queues by now: it goes on when the store knows.
    if (this.#ready.size === 0 || !store.leaseValid()) return
    const now = clock.now()
    for (let passed = 0; passed < mostPassedOver && this.#places > 0 && !this.#stopped;) {
      const [queue] = this.#ready
      if (!queue) return
      this.#ready.delete(queue)
      const began = this.#beginSome(queue, now)
      if (queue.waiting > 0 && this.#mayHavePlace(queue, now)) this.#ready.add(queue)
      passed = began ? 0 : passed + 1
      if (!began && passed >= this.#ready.size) return
    }
  }

  #beginSome(queue: SubscriberQueue, now: number): boolean {
    const scarce = this.#running >= scarceFrom
    const share = this.#ready.size === 0 ? mostRunning : perTurn
    let room = Math.min(queue.capacity(now, scarce), share, this.#places)
    if (queue.unresponsive) room = Math.min(room, mostSuspect - this.#suspects)
    let began = false
    for (; room > 0; room -= 1) {
      const next = queue.startNext(now)
      if (!next) break
      this.#begin(next, queue, queue.destination!)
      began = true
    }
    if (this.#prefetcher.isLow(queue)) this.#prefetcher.requestRefill(queue)
    return began
  }

  /** Whether a queue waits for what others hold; else its own end, or its timer, brings it back. */
  #mayHavePlace(queue: SubscriberQueue, now: number): boolean {
    if (queue.capacity(now) > 0) return true
    const wait = queue.waitTime(now)
    if (wait !== undefined && !queue.timerPending) {
      queue.timerPending = true
      this.#wakeIn(Math.min(wait, pollEvery), () => {
        queue.timerPending = false
        if (queue.waiting > 0) this.#fill(queue)
      })
    }
    return false
  }

  #begin(queued: QueuedDelivery, queue: SubscriberQueue, destination: Destination): void {
    const { unresponsive: suspect } = queue
    this.#running += 1
    if (suspect) this.#suspects += 1
    let ended = false
    const end = (ending: ResponseClass): void => {
      if (ended) return
      ended = true
      this.#running -= 1
      if (suspect) this.#suspects -= 1
      queue.finish(ending, this.#parts.clock.now())
      if (queue.waiting > 0) this.#ready.add(queue)
      this.#pump()
    }
    void this.#inFlight.add(this.#carryOut(queued, queue, destination, end))
  }

  async #carryOut(
    queued: QueuedDelivery,
    queue: SubscriberQueue,
    destination: Destination,
    end: (ending: ResponseClass) => void,
  ): Promise<void> {
    const { id } = queued.delivery
    let sent = true
    try {
      await this.#deliver(queued, queue, destination, end)
    } catch (error) {
      if (error instanceof NotSent) sent = false
      else this.#parts.log.error({ err: error, deliveryId: id }, 'a delivery could not be carried out')
    }
    end('aborted')
    this.#prefetcher.forget(id)
    if (destination.ordered || !sent) this.#prefetcher.markDue(queue.id)
  }

  /**
   * @param end called as soon as the exchange is over: writing it down takes no place. Unless something follows from it:
   * that takes longer to write, and no more of it is to gather than a subscriber may have under way.
   */
  async #deliver(
    { delivery, payload }: QueuedDelivery,
    queue: SubscriberQueue,
    destination: Destination,
    end: (ending: ResponseClass) => void,
  ): Promise<void> {
    const { attempt, clock, health, metrics, random } = this.#parts
    const cut = this.#cut
    let event: EventPayload | undefined
    let result: AttemptResult
    try {
      event = payload ?? (await this.#prefetcher.payloads.one(delivery))
      if (!event) {
        end('aborted')
        return await this.#complete(delivery, 'dead', clock.now(), withoutPayload(clock.now()))
      }
      const { target, timeout, httpSignature, owner } = destination
      const owned = owner !== null
      // Nothing else is made for it; a change of owners that earlier versions allowed leaves others behind.
      if (owned && !isFor(event.audience, owner, false)) {
        end('aborted')
        return await this.#complete(delivery, 'dead', clock.now(), withheld(clock.now()))
      }
      const keys = destination.keysAt(clock.now())
      const maySend = this.#maySend
      result = await attempt({ target, owned, event, keys, httpSignature, timeout, maySend }, cut)
    } catch (error) {
      // The table still says that it is to be attempted.
      if (cut.reason) return
      throw error
    }
    const outcome = evaluateAttempt(result, destination.schedule, delivery.begun, random)
    metrics.attempted(outcome.kind, result.durationMs)
    health.record(destination.id, outcome.kind === 'delivered', result.durationMs)
    const following = this.#parts.operationalEvents.sideEffects(delivery, destination, event, outcome, result)
    const now = clock.now()
    const [status, at] =
      outcome.kind === 'retry' ? (['pending', now + outcome.delay] as const) : [outcome.kind, now]
    const written = this.#complete(delivery, status, at, result, following)
    if (!following) end(classifyResponse(result))
    await written
    end(classifyResponse(result))
    if (outcome.kind === 'retry' && outcome.delay < pollEvery)
      this.#wakeIn(outcome.delay + 1, () => this.#prefetcher.markDue(queue.id))
    if (outcome.kind === 'dead')
      this.#parts.log.warn(
        {
          deliveryId: delivery.id,
          subscriberId: destination.id,
          attempts: delivery.begun,
          error: result.error,
          failure: result.failure,
        },
        'a delivery was dead-lettered',
      )
  }

  #complete(
    delivery: ClaimedDelivery,
    status: Completion['status'],
    at: number,
    attempt: AttemptResult,
    following?: SideEffects,
  ): Promise<void> {
    const finishedAt = status === 'pending' ? null : at
    return this.#completions.add({ delivery, status, dueAt: at, finishedAt, attempt }, following)
  }
}
