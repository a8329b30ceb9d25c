import type { Clock, Random } from '../clock.ts'
import { newId } from '../crypto/ids.ts'
import type { Worker } from '../http/room.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { Attempt, AttemptResult } from './attempt.ts'
import { Completions } from './completions.ts'
import type { Destination, Destinations } from './destinations.ts'
import { Lanes } from './lanes.ts'
import type { DeliveryMetrics } from './metrics.ts'
import type { Notices } from './notices.ts'
import {
  oldestDue,
  payloadsOf,
  subscribersDue,
  type Claimed,
  type Completion,
  type DeliveryQueue,
  type Payload,
  type Wanted,
} from './store.ts'
import { judge } from './verdict.ts'

/** Attempts under way in one process. */
const mostRunning = 500
/** From here on, subscribers that have something under way get no more of it. */
const scarceFrom = 250
/** Subscribers that one round looks at, and deliveries that it claims at most: one of each, or more of fewer. */
const perRound = 100
/** Rounds in a row that find only subscribers with all that they may have, before the next wake-up is waited for. */
const mostIdleRounds = 100
/** How often the tables are looked at when nothing wakes, in milliseconds. */
const pollEvery = 1_000
/** What a lease lasts beyond the time-out: starting, and writing down how it ended. In milliseconds. */
export const leaseMargin = 5_000

export interface DispatcherParts {
  database: Database
  queue: DeliveryQueue
  destinations: Destinations
  attempt: Attempt
  /** What follows for the subscriber: it is told, warned or disabled. */
  tell: Notices['tell']
  metrics: DeliveryMetrics
  clock: Clock
  random: Random
  log: Log
  /** Closes the connections, after the last attempt. */
  close: () => Promise<void>
}

/**
 * Takes due deliveries from the queue and attempts them. Fair: each round goes on with the next subscribers, and none
 * gets more than its share of what is free. No transaction is open during an attempt.
 */
export class Dispatcher implements Worker {
  readonly name = 'deliveries'
  readonly #parts: DispatcherParts
  readonly #completions: Completions
  readonly #lanes = new Lanes()
  readonly #running = new Map<Claimed, Promise<void>>()
  readonly #timers = new Set<() => void>()
  readonly #stopping = new AbortController()
  #unlisten: (() => void) | undefined
  #claiming: Promise<void> | undefined
  #again = false
  #rateTimer = false
  #stopped = true
  /** The last subscriber of the last round: the next one begins behind it. */
  #after = ''

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#completions = new Completions(parts.queue, parts.clock, parts.log)
  }

  start(): void {
    this.#stopped = false
    this.#unlisten = this.#parts.database.onSignal('deliveries', () => this.wake())
    this.#poll()
  }

  oldestDue(): Promise<number | undefined> {
    return oldestDue(this.#parts.database, this.#parts.clock.now())
  }

  /** Looks for due deliveries now, or again as soon as the look that is under way has ended. */
  wake(): void {
    if (this.#stopped) return
    if (this.#claiming) {
      this.#again = true
      return
    }
    this.#claiming = this.#claimAll().finally(() => {
      this.#claiming = undefined
      if (this.#again) this.wake()
    })
  }

  async stop(deadline: AbortSignal): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    this.#unlisten?.()
    for (const cancel of this.#timers) cancel()
    const giveUp = (): void => {
      this.#stopping.abort(new Error('the service is stopping'))
      this.#completions.abandon()
    }
    if (deadline.aborted) giveUp()
    else deadline.addEventListener('abort', giveUp, { once: true })
    await this.#claiming
    await Promise.all(this.#running.values())
    deadline.removeEventListener('abort', giveUp)
    await this.#parts.close()
  }

  #poll(): void {
    this.wake()
    this.#wakeIn(pollEvery, () => this.#poll())
  }

  /** One timer for all rates: every round looks at them again. */
  #wakeForRate(delay: number): void {
    if (delay >= pollEvery || this.#rateTimer) return
    this.#rateTimer = true
    this.#wakeIn(delay, () => {
      this.#rateTimer = false
      this.wake()
    })
  }

  #wakeIn(delay: number, then: () => void = () => this.wake()): void {
    if (this.#stopped) return
    const cancel = this.#parts.clock.after(delay, () => {
      this.#timers.delete(cancel)
      if (!this.#stopped) then()
    })
    this.#timers.add(cancel)
  }

  /** Rounds until nothing more can be claimed. */
  async #claimAll(): Promise<void> {
    this.#again = false
    let idle = 0
    try {
      while (!this.#stopped && this.#running.size < mostRunning) {
        const { claimed, more } = await this.#round()
        if (claimed > 0) idle = 0
        else if (!more || ++idle >= mostIdleRounds) break
      }
    } catch (error) {
      // The database may be away for a while: the next poll tries again.
      this.#parts.log.error({ err: error }, 'due deliveries could not be claimed')
    }
  }

  async #round(): Promise<{ claimed: number; more: boolean }> {
    const { database, queue, destinations, clock, log } = this.#parts
    const rows = await this.#nextSubscribers()
    const more = rows.length === perRound
    const wanted: Wanted[] = []
    const open = new Map<string, Destination>()
    const share = Math.max(
      1,
      Math.floor(Math.min(mostRunning - this.#running.size, perRound) / Math.max(1, rows.length)),
    )
    const now = clock.now()
    const scarce = this.#running.size >= scarceFrom
    let rateWait = pollEvery
    for (const row of rows) {
      let destination: Destination
      try {
        destination = await destinations.open(row)
      } catch (error) {
        // A secret that cannot be opened (a lost master key) must not hold up the others.
        log.error({ err: error, subscriberId: row.id }, 'a subscriber cannot be delivered to')
        continue
      }
      const count = Math.min(this.#lanes.room(destination, now, scarce), share)
      rateWait = Math.min(rateWait, this.#lanes.waitForRate(destination, now) ?? pollEvery)
      if (count <= 0) continue
      open.set(row.id, destination)
      wanted.push({
        subscriberId: row.id,
        count,
        ordered: destination.ordered,
        leaseUntil: now + destination.timeout + leaseMargin,
      })
    }
    this.#wakeForRate(rateWait)
    if (wanted.length === 0) return { claimed: 0, more }
    const claimed = await queue.claim(wanted, now, newId(now))
    if (claimed.length === 0) return { claimed: 0, more }
    let payloads: Map<number, Payload>
    try {
      payloads = await payloadsOf(database.reader, [...new Set(claimed.map(({ event }) => event))])
    } catch (error) {
      await queue.giveBack(claimed, now)
      throw error
    }
    for (const delivery of claimed)
      this.#begin(delivery, open.get(delivery.subscriberId)!, payloads.get(delivery.event))
    return { claimed: claimed.length, more }
  }

  /** The next subscribers in turn, from the beginning again behind the last one. */
  async #nextSubscribers() {
    const { database, clock } = this.#parts
    const now = clock.now()
    const after = this.#after
    const rows = await subscribersDue(database, now, after, perRound)
    if (rows.length < perRound && after !== '') {
      const seen = new Set(rows.map(({ id }) => id))
      const first = await subscribersDue(database, now, '', perRound - rows.length)
      rows.push(...first.filter(({ id }) => id <= after && !seen.has(id)))
    }
    this.#after = rows.at(-1)?.id ?? ''
    return rows
  }

  #begin(delivery: Claimed, destination: Destination, payload: Payload | undefined): void {
    this.#lanes.begin(destination, this.#parts.clock.now())
    const work = this.#deliver(delivery, destination, payload)
      .catch((error: unknown) => {
        // Its lease runs out, and it is attempted again.
        this.#parts.log.error({ err: error, deliveryId: delivery.id }, 'a delivery could not be carried out')
      })
      .finally(() => {
        this.#running.delete(delivery)
        this.wake()
      })
    this.#running.set(delivery, work)
  }

  async #deliver(delivery: Claimed, destination: Destination, event: Payload | undefined): Promise<void> {
    const { attempt, clock, queue, metrics, random } = this.#parts
    if (!event) {
      this.#lanes.end(destination, true)
      const record = {
        at: clock.now(),
        durationMs: 0,
        status: null,
        error: 'the payload is no longer kept',
        failure: 'payload-gone',
        phases: null,
        requestHeaders: '{}',
        responseHeaders: null,
        responseBody: null,
      }
      await this.#completions.add({
        delivery,
        status: 'dead',
        dueAt: clock.now(),
        finishedAt: clock.now(),
        attempt: record,
      })
      return
    }
    const { url, timeout, customHeaders, httpSignature } = destination
    const keys = destination.keysAt(clock.now())
    const request = { url, event, keys, customHeaders, httpSignature, timeout }
    let result: AttemptResult | undefined
    try {
      result = await attempt(request, this.#stopping.signal)
    } catch (error) {
      if (!this.#stopping.signal.aborted) throw error
    } finally {
      // The place is free as soon as the exchange is over. The queue is looked at when this one is written down:
      // earlier, each commit would claim a single delivery.
      this.#lanes.end(destination, (result?.status ?? null) !== null)
    }
    if (!result) return queue.giveBack([delivery], clock.now())

    const verdict = judge(result, destination.schedule, delivery.begun, random)
    metrics.attempted(verdict.kind, result.durationMs)
    const now = clock.now()
    const completion: Completion =
      verdict.kind === 'retry'
        ? { delivery, status: 'pending', dueAt: now + verdict.delay, finishedAt: null, attempt: result }
        : { delivery, status: verdict.kind, dueAt: now, finishedAt: now, attempt: result }
    await this.#completions.add(completion)
    if (verdict.kind === 'retry' && verdict.delay < pollEvery) this.#wakeIn(verdict.delay + 1)
    await this.#parts.tell(delivery, destination, event, verdict, result)
    if (verdict.kind === 'dead')
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
}
