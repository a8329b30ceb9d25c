import type { Clock } from '../../runtime/clock.ts'
import { Problem } from '../../errors.ts'

/** The rates that bodies must reach. */
interface BodyPace {
  /** Milliseconds between two checks of the bodies that are being read. */
  interval: number
  /** Intervals over which the minimum rate is measured. The first such period is the grace period of a new body. */
  intervals: number
  /** Bytes per second that every body must reach. */
  minRate: number
  /** Bytes per second below which a body may be dropped if memory is short. */
  minRateUnderPressure: number
}

/**
 * The minimum rate and its grace are those of ASP.NET's Kestrel
 * (https://learn.microsoft.com/aspnet/core/fundamentals/servers/kestrel/options, MinRequestBodyDataRate).
 */
export const bodyPace: BodyPace = {
  interval: 1_000,
  intervals: 5,
  minRate: 240,
  minRateUnderPressure: 8 * 1024,
}

export interface BodyLimits {
  /** Bytes that bodies may take while they are read, all requests together. */
  bytes: number
  /** The part of `bytes` that is reserved for bodies in progress and for networks that hold little. */
  reserve: number
  /** Bodies that may be read at once. */
  bodies: number
  pace: BodyPace
}

export const bodyLimits: BodyLimits = {
  bytes: 64 * 1024 * 1024,
  reserve: 16 * 1024 * 1024,
  bodies: 10_000,
  pace: bodyPace,
}

/** The part of the reserve that each network may use to begin bodies. */
const smallShare = 1 / 16

/** A resource that can run short. */
interface Resource {
  /** How much of it a network has. */
  readonly of: (group: BodyGroup) => number
  /** Whether dropping the body gives some of it back. */
  readonly frees: (body: CountedBody) => boolean
}

const memory: Resource = { of: ({ held }) => held, frees: ({ held }) => held > 0 }
const places: Resource = { of: ({ bodies }) => bodies.size, frees: () => true }

interface Shortage {
  readonly resource: Resource
  /** How much a body wants of it. */
  readonly wanted: number
  readonly fits: () => boolean
}

/**
 * Limits the memory of the bodies that are being read. Received bytes count, not announced ones, so that an announced length
 * takes nothing from others.
 *
 * If memory is short, a body gets it from the client network that holds most, until that network holds no more than the network of
 * the body (max-min fairness). The bodies without progress for the longest time are dropped first. Then slow bodies are dropped: those
 * of the body's own network, and of networks that hold more. Only then the body is refused. One network may use all memory, because
 * behind a proxy that TRUSTED_PROXIES does not name, all clients are one network. Networks are determined only if memory is short.
 *
 * Bodies below the minimum rate are always dropped.
 */
export class BodyBudget {
  readonly #limits: BodyLimits
  readonly #clock: Clock
  /** Called for each dropped body: it was slow, or its network held more than its share. */
  noteDropped: (reason: 'slow' | 'share') => void = () => undefined
  /** Bodies whose network is not determined yet. */
  readonly #unsorted = new BodyGroup()
  readonly #networks = new Map<string, BodyGroup>()
  #bytes = 0
  #bodies = 0
  /** Intervals that have ended. */
  #interval = 0
  #cancel: (() => void) | undefined
  #closed = false

  constructor(limits: BodyLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** Bytes that incomplete bodies hold. */
  get bytes(): number {
    return this.#bytes
  }

  /** Bodies that are being read. */
  get bodies(): number {
    return this.#bodies
  }

  /** Returns whether a body with `announced` bytes may begin. If so, call `end` for it. */
  begin(body: CountedBody, announced: number): boolean {
    const { bytes, reserve, bodies } = this.#limits
    const isShort =
      this.#bodies >= bodies || this.#bytes >= bytes - reserve || this.#bytes + announced > bytes
    if (!isShort) this.#unsorted.add(body)
    else if (!this.#beginInto(this.#networkOf(body), body, announced)) return false
    this.#bodies += 1
    if (this.#cancel === undefined) this.#watch()
    return true
  }

  /** Returns whether a body in progress may hold `bytes` more. */
  take(body: CountedBody, bytes: number): boolean {
    const fits = (): boolean => this.#bytes + bytes <= this.#limits.bytes
    if (!fits()) {
      const network = this.#networkOf(body)
      // A body is not dropped for itself.
      network.progressed(body)
      if (!this.#makeRoom(network, { resource: memory, wanted: bytes, fits }, body)) return false
    }
    this.#bytes += bytes
    body.held += bytes
    body.group!.held += bytes
    return true
  }

  /** Notes that a part of a body arrived that is not the last one. */
  progressed(body: CountedBody): void {
    body.group?.progressed(body)
  }

  /** Releases everything that a body holds. */
  end(body: CountedBody): void {
    const { group } = body
    if (group === undefined) return
    group.remove(body)
    body.group = undefined
    this.#bodies -= 1
    this.#bytes -= body.held
    body.held = 0
    if (group.bodies.size === 0 && group !== this.#unsorted) this.#forget(group)
  }

  /** Stops watching the rates. */
  close(): void {
    this.#closed = true
    this.#cancel?.()
  }

  #beginInto(network: BodyGroup, body: CountedBody, announced: number): boolean {
    const { bytes, reserve, bodies } = this.#limits
    const small = reserve * smallShare
    const fits = (): boolean =>
      this.#bytes + announced <= bytes && (this.#bytes < bytes - reserve || network.held + announced <= small)
    const room =
      this.#makeRoom(network, { resource: places, wanted: 1, fits: () => this.#bodies < bodies }) &&
      this.#makeRoom(network, { resource: memory, wanted: announced, fits })
    if (room) network.add(body)
    else if (network.bodies.size === 0) this.#forget(network)
    return room
  }

  #makeRoom(network: BodyGroup, shortage: Shortage, except?: CountedBody): boolean {
    const { resource, wanted, fits } = shortage
    const { of, frees } = resource
    while (!fits()) {
      const largest = this.#largest(resource)
      const isLarger = (): boolean => of(largest) > of(network) + wanted
      if (largest === network || !isLarger()) break
      for (const body of largest.bodies) {
        if (fits() || !isLarger()) break
        if (frees(body)) this.#drop(body)
      }
    }
    for (const other of this.#networks.values()) {
      if (fits()) break
      if (other === network || of(other) > of(network)) this.#dropSlow(other, fits, except)
    }
    return fits()
  }

  #dropSlow(group: BodyGroup, fits: () => boolean, except: CountedBody | undefined): void {
    // No other body becomes slow before the interval ends.
    if (group.noneSlowIn === this.#interval) return
    for (const body of group.bodies) {
      if (fits()) return
      if (body !== except && body.isSlow(this.#limits.pace)) this.#drop(body)
    }
    group.noneSlowIn = this.#interval
  }

  #drop(body: CountedBody, isSlow = body.isSlow(this.#limits.pace)): void {
    this.end(body)
    this.noteDropped(isSlow ? 'slow' : 'share')
    body.drop(isSlow ? tooSlow() : aboveShare())
  }

  #largest({ of }: Resource): BodyGroup {
    let largest: BodyGroup | undefined
    for (const group of this.#networks.values())
      if (largest === undefined || of(group) > of(largest)) largest = group
    return largest!
  }

  /** Determines the networks of all bodies, and returns that of one. */
  #networkOf(body: CountedBody): BodyGroup {
    for (const other of this.#unsorted.bodies) this.#group(other.network()).add(other)
    this.#unsorted.clear()
    return body.group ?? this.#group(body.network())
  }

  #group(network: string): BodyGroup {
    let group = this.#networks.get(network)
    if (!group) this.#networks.set(network, (group = new BodyGroup(network)))
    return group
  }

  #forget(group: BodyGroup): void {
    this.#networks.delete(group.network)
  }

  #watch(): void {
    if (this.#closed) return
    this.#cancel = this.#clock.after(this.#limits.pace.interval, () => {
      this.#cancel = undefined
      this.#interval += 1
      for (const group of [this.#unsorted, ...this.#networks.values()])
        for (const body of group.bodies) if (body.endInterval(this.#limits.pace)) this.#drop(body, true)
      if (this.#bodies > 0) this.#watch()
    })
  }
}

function tooSlow(): Problem {
  return new Problem('request-timeout', { detail: 'The body came too slowly.' })
}

function aboveShare(): Problem {
  return new Problem('overloaded', {
    retryAfter: 1,
    detail: 'Too many large bodies of your network are being read.',
  })
}

/**
 * A body that is being read, as the budget counts it. Rates are measured in intervals instead of by the clock: if the process
 * itself paused, the bytes that arrived meanwhile are read before the next interval ends.
 */
export abstract class CountedBody {
  /** The bodies that are counted together with it. The budget sets it. */
  group: BodyGroup | undefined
  /** Bytes of memory that it holds. The budget sets it. */
  held = 0
  /** Received bytes. */
  received = 0
  /** Bytes of the last whole interval; infinite before the first one has ended. */
  #gain = Infinity
  /** Received bytes at the end of the last interval; undefined before the first one has ended. */
  #before: number | undefined
  #intervals = 0
  #beforePeriod = 0

  /** The network of the client. Called only if memory is short. */
  abstract network(): string

  /** Ends the body with a problem. The budget has released its bytes before. */
  abstract drop(problem: Problem): void

  /** Ends an interval. @returns whether a period ends with it in which the body was below the minimum rate */
  endInterval({ interval, intervals, minRate }: BodyPace): boolean {
    const { received } = this
    const before = this.#before
    this.#before = received
    if (before === undefined) {
      this.#beforePeriod = received
      return false
    }
    this.#gain = received - before
    this.#intervals += 1
    if (this.#intervals < intervals) return false
    const came = received - this.#beforePeriod
    this.#intervals = 0
    this.#beforePeriod = received
    return came < (minRate * interval * intervals) / 1_000
  }

  /** Whether the body was slow in the last whole interval and since then. */
  isSlow({ interval, minRateUnderPressure }: BodyPace): boolean {
    const enough = (minRateUnderPressure * interval) / 1_000
    return this.#gain < enough && this.received - (this.#before ?? 0) < enough
  }
}

/** The bodies of one client network, or those whose network is not determined yet. */
class BodyGroup {
  /** In the order of their last progress, the oldest first. */
  readonly bodies = new Set<CountedBody>()
  /** Bytes that they hold. */
  held = 0
  /** The interval in which no body was slow. */
  noneSlowIn = -1
  readonly network: string
  #latest: CountedBody | undefined

  constructor(network = '') {
    this.network = network
  }

  add(body: CountedBody): void {
    body.group = this
    this.bodies.add(body)
    this.held += body.held
    this.#latest = body
  }

  remove(body: CountedBody): void {
    this.bodies.delete(body)
    this.held -= body.held
    if (this.#latest === body) this.#latest = undefined
  }

  /** Removes all bodies, after other groups have added them. */
  clear(): void {
    this.bodies.clear()
    this.held = 0
    this.#latest = undefined
  }

  /** Notes that a part of the body arrived. */
  progressed(body: CountedBody): void {
    if (this.#latest === body) return
    this.bodies.delete(body)
    this.bodies.add(body)
    this.#latest = body
  }
}
