import type { Problem } from '../../errors.ts'

/** The rates that bodies must reach. */
export interface BodyPace {
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
export class BodyGroup {
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
