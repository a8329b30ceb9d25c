import type { Clock, Random } from '../runtime/clock.ts'
import type { Worker } from '../runtime/worker.ts'
import { NotSent } from '../network/exchange.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import { Progress } from '../runtime/progress.ts'
import { InFlight } from '../runtime/in-flight.ts'
import { withheld, withoutPayload, type Attempt, type AttemptResult } from './attempt.ts'
import { isFor } from './audience.ts'
import { Completions, type Following } from './completions.ts'
import { Cut } from './cut.ts'
import type { Destination, Destinations } from './destinations.ts'
import type { Health } from './health.ts'
import { endingOf, type Ending, type Lane, type Queued } from './lanes.ts'
import type { DeliveryMetrics } from './metrics.ts'
import type { Notices } from './notices.ts'
import type { Claimed, Completion, DeliveryQueue, FreshDelivery, Payload } from './store.ts'
import { Supply } from './supply.ts'
import { judge } from './verdict.ts'

/** Attempts under way in one process. */
const mostRunning = 500
/** Those together with attempts that are over and not yet written down, which a crash would make once more. */
export const mostUnknown = 1_000
/** From here on, subscribers that have something under way get no more of it. */
const scarceFrom = 250
/** Attempts of subscribers that did not answer lately, of all of those. */
const mostSuspect = 200
/** Attempts that one lane begins before it is the next one's turn. */
const perTurn = 4
/** Lanes that are passed over before a place stays free until something ends. */
const mostPassedOver = 64
/** How often the tables are looked at when nothing wakes, in milliseconds. */
const pollEvery = 1_000

export interface DispatcherParts {
  database: Pick<Database, 'signal' | 'onSignal' | 'tell' | 'onTold' | 'onSetBack' | 'transaction'>
  queue: DeliveryQueue
  destinations: Pick<Destinations, 'open'>
  attempt: Attempt
  /** Counts how attempts end. */
  health: Pick<Health, 'record'>
  /** What follows for the subscriber: it is told, warned or disabled. */
  notices: Pick<Notices, 'following' | 'tell'>
  metrics: DeliveryMetrics
  clock: Clock
  random: Random
  log: Log
  /** Closes the connections, after the last attempt. */
  close: () => Promise<void>
}

/**
 * Attempts what lies in the lanes of this process. Fair: lanes take turns, and none gets more than its share of what is
 * free. No transaction is open during an attempt.
 */
export class Dispatcher implements Worker {
  readonly name = 'deliveries'
  readonly #parts: DispatcherParts
  readonly #completions: Completions
  readonly #supply: Supply
  readonly #progress: Progress
  /** Lanes that have something waiting and may have a place for it, in turn. */
  readonly #ready = new Set<Lane>()
  readonly #underWay = new InFlight()
  readonly #timers = new Set<() => void>()
  #running = 0
  #suspects = 0
  /** Breaks off what is under way. */
  #cut = new Cut()
  #unlisten: (() => void)[] = []
  #stopped = true
  readonly #maySend = (): boolean => this.#parts.queue.sure()

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#progress = new Progress(parts.clock)
    this.#completions = new Completions({
      ...parts,
      tell: (...told) => parts.notices.tell(...told),
      written: () => this.#pump(),
    })
    this.#supply = new Supply({
      ...parts,
      filled: (lane) => this.#fill(lane),
      elsewhere: (id) => parts.database.tell('lane', id),
      lost: () => {
        this.#cut.now(new Error('the lanes were lost'))
        this.#cut = new Cut()
      },
      regained: () => this.#pump(),
      looked: () => this.#progress.made(),
    })
  }

  start(): void {
    this.#stopped = false
    this.#progress.made()
    const { database } = this.#parts
    this.#unlisten = [
      database.onSignal('deliveries', () => this.wake()),
      database.onTold('subscriber', (id) => this.changed(id)),
      database.onTold('lane', (id) => this.#supply.told(id)),
      database.onSetBack(() => this.#supply.setBack()),
    ]
    this.#poll()
  }

  /** Looking for what is due, and writing down what became of it. */
  sinceRound(): number {
    return Math.max(this.#progress.age, this.#completions.failingFor)
  }

  oldestDue(): Promise<number | undefined> {
    const busy = [...this.#supply.lanes].filter(({ running }) => running > 0).map(({ id }) => id)
    return this.#parts.queue.oldestDue(this.#parts.clock.now(), new Set(busy))
  }

  /** Looks for due deliveries now, or again as soon as the look that is under way has ended. */
  wake(): void {
    if (!this.#stopped) this.#supply.look()
  }

  /** A subscriber was changed, here or by another process: nothing begins for it before it was read again. */
  changed(subscriberId: string): void {
    if (!this.#stopped) this.#supply.changed(subscriberId)
  }

  /** Grows with the lanes that this process has taken. */
  get generation(): number {
    return this.#supply.generation
  }

  /**
   * Begins deliveries that were just committed, without reading them.
   * @param offered `undefined` when it is not known which: then they are looked for
   */
  offer(offered: readonly (readonly FreshDelivery[] | undefined)[]): void {
    const known = offered.flatMap((some) => some ?? [])
    const all = !offered.includes(undefined)
    // Nobody here knows whose lanes it is in.
    if (this.#stopped || !all) this.#parts.database.signal('deliveries')
    if (!this.#stopped) this.#supply.offer(known)
  }

  async stop(deadline: AbortSignal): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    for (const unlisten of this.#unlisten) unlisten()
    for (const cancel of this.#timers) cancel()
    const giveUp = (): void => {
      this.#cut.now(new Error('the service is stopping'))
      this.#completions.abandon()
    }
    if (deadline.aborted) giveUp()
    else deadline.addEventListener('abort', giveUp, { once: true })
    await this.#supply.stop()
    await this.#underWay.drained()
    deadline.removeEventListener('abort', giveUp)
    await this.#parts.queue.leave()
    await this.#parts.close()
  }

  #poll(): void {
    this.#supply.refresh()
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

  #fill(lane: Lane): void {
    this.#ready.add(lane)
    this.#pump()
  }

  /** How many more attempts may begin. */
  get #places(): number {
    const running = this.#running
    return Math.min(mostRunning, mostUnknown - this.#completions.unwritten) - running
  }

  /** Begins what waits, one lane after the other, as far as there are places. */
  #pump(): void {
    const { clock, queue } = this.#parts
    // Others may have the lanes by now: it goes on when the queue knows.
    if (this.#ready.size === 0 || !queue.sure()) return
    const now = clock.now()
    for (let passed = 0; passed < mostPassedOver && this.#places > 0 && !this.#stopped;) {
      const [lane] = this.#ready
      if (!lane) return
      this.#ready.delete(lane)
      const began = this.#beginSome(lane, now)
      if (lane.waiting > 0 && this.#mayHavePlace(lane, now)) this.#ready.add(lane)
      passed = began ? 0 : passed + 1
      if (!began && passed >= this.#ready.size) return
    }
  }

  #beginSome(lane: Lane, now: number): boolean {
    const scarce = this.#running >= scarceFrom
    const share = this.#ready.size === 0 ? mostRunning : perTurn
    let room = Math.min(lane.room(now, scarce), share, this.#places)
    if (lane.suspect) room = Math.min(room, mostSuspect - this.#suspects)
    let began = false
    for (; room > 0; room -= 1) {
      const next = lane.begin(now)
      if (!next) break
      this.#begin(next, lane, lane.destination!)
      began = true
    }
    if (this.#supply.isLow(lane)) this.#supply.want(lane)
    return began
  }

  /** Whether a lane waits for what others hold; else its own end, or its timer, brings it back. */
  #mayHavePlace(lane: Lane, now: number): boolean {
    if (lane.room(now) > 0) return true
    const wait = lane.wait(now)
    if (wait !== undefined && !lane.waits) {
      lane.waits = true
      this.#wakeIn(Math.min(wait, pollEvery), () => {
        lane.waits = false
        if (lane.waiting > 0) this.#fill(lane)
      })
    }
    return false
  }

  #begin(queued: Queued, lane: Lane, destination: Destination): void {
    const { suspect } = lane
    this.#running += 1
    if (suspect) this.#suspects += 1
    let ended = false
    const end = (ending: Ending): void => {
      if (ended) return
      ended = true
      this.#running -= 1
      if (suspect) this.#suspects -= 1
      lane.end(ending, this.#parts.clock.now())
      if (lane.waiting > 0) this.#ready.add(lane)
      this.#pump()
    }
    void this.#underWay.add(this.#carryOut(queued, lane, destination, end))
  }

  async #carryOut(
    queued: Queued,
    lane: Lane,
    destination: Destination,
    end: (ending: Ending) => void,
  ): Promise<void> {
    const { id } = queued.delivery
    let sent = true
    try {
      await this.#deliver(queued, lane, destination, end)
    } catch (error) {
      if (error instanceof NotSent) sent = false
      else this.#parts.log.error({ err: error, deliveryId: id }, 'a delivery could not be carried out')
    }
    end('broken-off')
    this.#supply.settle(id)
    if (destination.ordered || !sent) this.#supply.hint(lane.id)
  }

  /**
   * @param end called as soon as the exchange is over: writing it down takes no place. Unless something follows from it:
   * that takes longer to write, and no more of it is to gather than a subscriber may have under way.
   */
  async #deliver(
    { delivery, payload }: Queued,
    lane: Lane,
    destination: Destination,
    end: (ending: Ending) => void,
  ): Promise<void> {
    const { attempt, clock, health, metrics, random } = this.#parts
    const cut = this.#cut
    let event: Payload | undefined
    let result: AttemptResult
    try {
      event = payload ?? (await this.#supply.payloads.one(delivery))
      if (!event) {
        end('broken-off')
        return await this.#complete(delivery, 'dead', clock.now(), withoutPayload(clock.now()))
      }
      const { target, timeout, httpSignature, owner } = destination
      const owned = owner !== null
      // Nothing else is made for it; a change of owners that earlier versions allowed leaves others behind.
      if (owned && !isFor(event.audience, owner, false)) {
        end('broken-off')
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
    const verdict = judge(result, destination.schedule, delivery.begun, random)
    metrics.attempted(verdict.kind, result.durationMs)
    health.record(destination.id, verdict.kind === 'delivered', result.durationMs)
    const following = this.#parts.notices.following(delivery, destination, event, verdict, result)
    const now = clock.now()
    const [status, at] =
      verdict.kind === 'retry' ? (['pending', now + verdict.delay] as const) : [verdict.kind, now]
    const written = this.#complete(delivery, status, at, result, following)
    if (!following) end(endingOf(result))
    await written
    end(endingOf(result))
    if (verdict.kind === 'retry' && verdict.delay < pollEvery)
      this.#wakeIn(verdict.delay + 1, () => this.#supply.hint(lane.id))
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

  #complete(
    delivery: Claimed,
    status: Completion['status'],
    at: number,
    attempt: AttemptResult,
    following?: Following,
  ): Promise<void> {
    const finishedAt = status === 'pending' ? null : at
    return this.#completions.add({ delivery, status, dueAt: at, finishedAt, attempt }, following)
  }
}
