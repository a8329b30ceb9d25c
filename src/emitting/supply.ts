import type { Clock, Random } from '../runtime/clock.ts'
import type { Log } from '../telemetry/log.ts'
import type { Destinations } from './destinations.ts'
import { Lane, type Queued } from './lanes.ts'
import { Payloads } from './payloads.ts'
import { beginning, type DeliveryQueue, type FreshDelivery } from './store.ts'
import { aheadOf, isLow, lanesOfRead, wantedOf } from './reading-ahead.ts'

/** Lanes that have something to do, at most; then some go, so that others have their turn. */
const mostLanes = 512
/** Pages of subscribers that one look goes through. */
const pagesPerLook = 25
/** Milliseconds until a destination is read again. */
const trustedFor = 1_000
/** Milliseconds without work until a lane is let go. */
const idleFor = 60_000
/** Milliseconds of work until a lane that others wait for is let go. */
const turn = 1_000
/** Milliseconds for which a lane that was found with another process is not asked for again: it may be let go. */
const elsewhereFor = 1_000
/** Milliseconds between two looks, unless there is nothing to do meanwhile. */
const pause = 20

export interface SupplyParts {
  queue: DeliveryQueue
  destinations: Pick<Destinations, 'open'>
  clock: Clock
  random: Random
  log: Log
  /** A lane has something that may begin. */
  filled: (lane: Lane) => void
  /** A lane of another process has more to deliver. */
  elsewhere: (subscriberId: string) => void
  /** Whatever is under way is somebody else's from now on. */
  lost: () => void
  /** The lanes are surely ours again. */
  regained: () => void
  /** A look at what is due has got on. */
  looked?: () => void
}

/**
 * Keeps the lanes of this process supplied: finds subscribers with due work, takes their lanes, and reads ahead of what is
 * sent. Reading costs the same however much waits: each lane goes on behind what it read last.
 */
export class Supply {
  readonly #parts: SupplyParts
  readonly #lanes = new Map<string, Lane>()
  /** Deliveries in memory. Reading finds them again until they are written down. */
  readonly #held = new Map<number, Lane>()
  /** Written down while a read was under way, which may have seen them before. */
  readonly #settled: number[] = []
  readonly #hungry = new Set<Lane>()
  /** Subscribers that are known to have something. */
  readonly #hinted = new Set<string>()
  /** Those of them for which there is something new, whose owners of the lanes must be notified. */
  readonly #untold = new Set<string>()
  /** Subscribers whose lanes other processes had, and when that was found. */
  readonly #elsewhere = new Map<string, number>()
  readonly payloads: Payloads
  #made = 0
  #attending = false
  #looking: Promise<void> | undefined
  #again = false
  #reading: Promise<void> | undefined
  #after = ''
  /** Whether subscribers wait for a lane. */
  #crowded = false
  /** How often all lanes were lost or dropped. */
  #losses = 0
  #stopped = false

  constructor(parts: SupplyParts) {
    this.#parts = parts
    this.payloads = new Payloads(parts.queue)
  }

  /** Grows with every lane that is made. */
  get generation(): number {
    return this.#made
  }

  get lanes(): Iterable<Lane> {
    return this.#lanes.values()
  }

  /** Looks for subscribers that have something, now or again when the look that is under way has ended. */
  look(): void {
    if (this.#stopped) return
    if (this.#looking) {
      this.#again = true
      return
    }
    this.#again = false
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined
      if (!this.#again) return
      // What is asked for while there is enough to do is asked for again and again.
      if (this.#held.size === 0) this.look()
      else this.#parts.clock.after(pause, () => this.look())
    })
  }

  /** Reads more for a lane, together with whatever others want by then. */
  want(lane: Lane): void {
    if (this.#stopped) return
    this.#hungry.add(lane)
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined
      this.#forgetSettled()
      const [next] = this.#hungry
      if (next) this.want(next)
    })
  }

  /** There may be more in the table of what a subscriber gets. */
  hint(subscriberId: string): void {
    const lane = this.#lanes.get(subscriberId)
    if (lane) {
      lane.fresh.more = lane.retries.more = true
      this.want(lane)
    } else {
      this.#hinted.add(subscriberId)
      this.look()
    }
  }

  /** Nothing begins for it before it was read again. If it was resumed, it is not looked for among all that are paused. */
  changed(subscriberId: string): void {
    const lane = this.#lanes.get(subscriberId)
    if (!lane) return this.hint(subscriberId)
    lane.changes += 1
    lane.stale = true
    this.want(lane)
  }

  /**
   * The database was taken back to an earlier state, in which lanes may be other processes': all are taken and read again. What is
   * under way goes on, and is recorded if its delivery is still there.
   */
  setBack(): void {
    this.payloads.forgetAll()
    this.#dropLanes()
    this.look()
  }

  /**
   * Takes deliveries that a transaction of this process has just committed, as far as their lanes have room. What it does
   * not take is read; the owners of lanes that are not ours are notified.
   */
  offer(offered: readonly FreshDelivery[]): void {
    const now = this.#parts.clock.now()
    for (const { delivery, payload, generation } of offered) {
      const lane = this.#lanes.get(delivery.subscriberId)
      const takes =
        lane !== undefined &&
        lane.since <= generation &&
        !lane.leaving &&
        lane.destination?.ordered === false &&
        delivery.dueAt <= now &&
        delivery.id > lane.highest &&
        lane.fresh.waiting.length < this.#ahead(lane)
      this.payloads.keep(payload)
      if (!takes) {
        if (lane && !lane.leaving) this.hint(lane.id)
        else this.#offerElsewhere(delivery.subscriberId, now)
        continue
      }
      const old = now - lane.checkedAt >= trustedFor
      // Nothing happened for a while: the subscriber is read again first, and nothing else is.
      if (old && lane.held === 0) lane.stale = true
      this.#hold(lane, [{ delivery, payload }], lane.fresh.waiting)
      if (old) this.want(lane)
      this.#parts.filled(lane)
    }
  }

  #offerElsewhere(subscriberId: string, now: number): void {
    const found = this.#elsewhere.get(subscriberId)
    if (found !== undefined && Math.abs(now - found) < elsewhereFor)
      return this.#parts.elsewhere(subscriberId)
    this.#untold.add(subscriberId)
    this.hint(subscriberId)
  }

  /** There is more for a subscriber, if its lane is ours. */
  told(subscriberId: string): void {
    if (this.#lanes.has(subscriberId)) this.hint(subscriberId)
  }

  /** A delivery is written down, or given up: the table has the truth about it. */
  settle(id: number): void {
    if (this.#reading) this.#settled.push(id)
    else this.#forget(id)
  }

  /** To be called every second: what other processes changed is heard of, and what nobody told of is found. */
  refresh(): void {
    const now = this.#parts.clock.now()
    for (const lane of this.#lanes.values())
      if (lane.waiting > 0 && now - lane.checkedAt >= trustedFor) this.want(lane)
    this.look()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const lane of this.#lanes.values()) this.#empty(lane)
    await this.#looking
    await this.#reading
    for (const lane of this.#lanes.values()) this.#empty(lane)
  }

  async #look(): Promise<void> {
    const { queue, clock, log, looked } = this.#parts
    try {
      await this.#attend()
      await this.#letGo()
      const hinted = [...this.#hinted]
      this.#hinted.clear()
      if (hinted.length > 0) {
        await this.#take(hinted)
        this.#tellOthers(hinted)
      }
      const began = this.#after
      let wrapped = began === ''
      for (let pages = 0; pages < pagesPerLook && !this.#stopped; pages += 1) {
        const { ids, next } = await queue.due(clock.now(), this.#after)
        for (const id of ids) if (this.#lanes.has(id)) this.hint(id)
        const others = ids.filter((id) => !this.#lanes.has(id))
        const tookAll = await this.#take(others)
        looked?.()
        if (!tookAll) return
        this.#after = next ?? ''
        if (next === undefined && wrapped) return
        if (next === undefined) wrapped = true
        else if (wrapped && began !== '' && next >= began) return
      }
    } catch (error) {
      // The database may be away for a while: the next look tries again.
      log.error({ err: error }, 'due deliveries could not be looked for')
    }
  }

  async #attend(): Promise<void> {
    if (this.#attending) return
    const { queue, regained } = this.#parts
    await queue.attend({ lost: () => this.#lose(), freed: () => this.look(), regained })
    this.#attending = true
  }

  /** Of subscribers whose lanes were asked for and are not ours. */
  #tellOthers(subscriberIds: readonly string[]): void {
    const now = this.#parts.clock.now()
    for (const [id, found] of this.#elsewhere)
      if (Math.abs(now - found) >= elsewhereFor) this.#elsewhere.delete(id)
    for (const id of subscriberIds) {
      const lane = this.#lanes.get(id)
      const news = this.#untold.delete(id)
      if (lane) continue
      this.#elsewhere.set(id, now)
      if (news) this.#parts.elsewhere(id)
    }
  }

  /** False when there is no room for all of them: then it is somebody's turn to go. */
  async #take(subscriberIds: readonly string[]): Promise<boolean> {
    const { queue, clock, random } = this.#parts
    const wanted = subscriberIds.slice(0, Math.max(0, mostLanes - this.#lanes.size))
    if (wanted.length > 0) {
      const losses = this.#losses
      const taken = await queue.take(wanted)
      // They were taken by whom others take for dead.
      if (losses !== this.#losses) return false
      for (const id of taken) {
        if (this.#lanes.has(id)) continue
        const lane = new Lane(id, (this.#made += 1), clock.now(), random)
        this.#lanes.set(id, lane)
        this.want(lane)
      }
    }
    this.#crowded = wanted.length < subscriberIds.length
    if (this.#crowded) this.#makeRoom()
    return !this.#crowded
  }

  /** Others wait: who has had a turn takes no more, unless some have nothing to do. */
  #makeRoom(): void {
    const now = this.#parts.clock.now()
    const lanes = [...this.#lanes.values()]
    if (lanes.some((lane) => this.#isIdle(lane) && lane.forgettable)) return this.look()
    for (const lane of lanes)
      if (now - lane.madeAt >= turn) {
        lane.leaving = true
        this.#empty(lane)
      }
  }

  /** Lanes that have nothing under way, if they had their turn or nothing to do for a while. */
  async #letGo(): Promise<void> {
    const now = this.#parts.clock.now()
    const going: string[] = []
    for (const lane of this.#lanes.values()) {
      if (!this.#isIdle(lane)) continue
      const inactive = !lane.destination && !lane.stale
      const unused = lane.forgettable && (this.#crowded || now - lane.usedAt >= idleFor)
      const owes = !this.#crowded && lane.owes(now)
      if (!lane.leaving && (owes || !(inactive || unused))) continue
      this.#lanes.delete(lane.id)
      going.push(lane.id)
    }
    if (going.length > 0) await this.#parts.queue.release(going)
  }

  #isIdle(lane: Lane): boolean {
    return lane.held === 0 && lane.running === 0 && !this.#hungry.has(lane)
  }

  /** What is under way is broken off by whoever is told; what waits goes at once. */
  #lose(): void {
    this.#dropLanes()
    this.#parts.lost()
    this.look()
  }

  #dropLanes(): void {
    this.#losses += 1
    for (const lane of this.#lanes.values()) this.#empty(lane)
    this.#lanes.clear()
    this.#hungry.clear()
  }

  async #readAll(): Promise<void> {
    // What is wanted in this same turn of the loop is read together.
    await Promise.resolve()
    try {
      while (this.#hungry.size > 0 && !this.#stopped) {
        const lanes = lanesOfRead(this.#hungry, this.#lanes)
        for (const lane of lanes) this.#hungry.delete(lane)
        await this.#check(lanes)
        await this.#read(lanes.filter((lane) => this.#lanes.get(lane.id) === lane && lane.destination))
        this.#forgetSettled()
      }
    } catch (error) {
      // The lanes want it again at the next look.
      this.#parts.log.error({ err: error }, 'due deliveries could not be read')
      this.#hungry.clear()
    }
  }

  /** Reads the subscribers again that were not read for a while. */
  async #check(lanes: readonly Lane[]): Promise<void> {
    const { queue, destinations, clock, log } = this.#parts
    const now = clock.now()
    const unsure = lanes.filter(
      (lane) => lane.stale || !lane.destination || now - lane.checkedAt >= trustedFor,
    )
    if (unsure.length === 0) return
    const changes = new Map(unsure.map((lane) => [lane, lane.changes]))
    const rows = await queue.subscribers(unsure.map(({ id }) => id)).catch((error: unknown) => {
      for (const lane of unsure) lane.stale = true
      throw error
    })
    const found = new Map(rows.map((row) => [row.id, row]))
    await Promise.all(
      unsure.map(async (lane) => {
        const row = found.get(lane.id)
        const before = lane.destination
        lane.checkedAt = now
        try {
          lane.destination = row && (await destinations.open(row))
        } catch (error) {
          // A secret that cannot be opened (a lost master key) must not hold up the others.
          log.error({ err: error, subscriberId: lane.id }, 'a subscriber cannot be delivered to')
          lane.destination = undefined
        }
        // What changed meanwhile is wanted again.
        lane.stale = lane.changes !== changes.get(lane)
        if (!lane.destination || (before && before.ordered !== lane.destination.ordered)) this.#empty(lane)
        if (lane.waiting > 0) this.#parts.filled(lane)
      }),
    )
  }

  async #read(lanes: readonly Lane[]): Promise<void> {
    const { queue, clock } = this.#parts
    const now = clock.now()
    const wanted = lanes.flatMap((lane) => wantedOf(lane, now, this.#ahead(lane)))
    if (wanted.length === 0) return
    const rows = await queue.read(wanted, now)
    const found = Map.groupBy(rows, ({ subscriberId }) => subscriberId)
    const news = rows.filter(({ id }) => !this.#held.has(id))
    const payloadOf = await this.payloads.small(news)
    const byLane = new Map(lanes.map((lane) => [lane.id, lane]))
    for (const want of wanted) {
      const lane = byLane.get(want.subscriberId)!
      if (lane.leaving || this.#stopped || this.#lanes.get(lane.id) !== lane) continue
      const read = (found.get(lane.id) ?? []).filter(
        ({ number }) => want.ordered || want.retries === number > 1,
      )
      const stock = !want.ordered && want.retries ? lane.retries : lane.fresh
      if (want.ordered) stock.more = false
      else {
        stock.more = read.length === want.count
        stock.behind = stock.more ? read.at(-1)! : beginning
      }
      const unheld = read.filter(({ id }) => !this.#held.has(id))
      this.#hold(
        lane,
        unheld.map((delivery) => ({ delivery, payload: payloadOf(delivery) })),
        stock.waiting,
      )
      if (lane.waiting > 0) this.#parts.filled(lane)
      // All that was read is under way: what is wanted lies behind it.
      if (stock.more && unheld.length === 0) this.want(lane)
    }
  }

  #ahead(lane: Lane): number {
    return aheadOf(lane, this.#lanes.size)
  }

  isLow = (lane: Lane): boolean => isLow(lane, this.#ahead(lane))

  #hold(lane: Lane, queued: readonly Queued[], waiting: Queued[]): void {
    for (const one of queued) {
      this.#held.set(one.delivery.id, lane)
      lane.held += 1
      lane.highest = Math.max(lane.highest, one.delivery.id)
      waiting.push(one)
    }
    if (queued.length > 0) lane.usedAt = this.#parts.clock.now()
  }

  #forgetSettled(): void {
    for (const id of this.#settled.splice(0)) this.#forget(id)
  }

  #forget(id: number): void {
    const lane = this.#held.get(id)
    if (!lane) return
    this.#held.delete(id)
    lane.held -= 1
    if (this.#crowded && lane.held === 0) this.look()
  }

  /** Forgets what waits. */
  #empty(lane: Lane): void {
    for (const stock of [lane.fresh, lane.retries])
      for (const { delivery } of stock.clear()) this.settle(delivery.id)
  }
}
