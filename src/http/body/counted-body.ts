import type { Problem } from '../../errors.ts'

/** How fast bodies have to come. */
export interface BodyPace {
  /** Milliseconds between two looks at the bodies that are being read. */
  interval: number
  /** Intervals over which the least rate is measured. The first of these periods is the grace of a new body. */
  intervals: number
  /** Bytes a second that a body has to come with, always. */
  least: number
  /** Bytes a second below which a body may be dropped when room is short. */
  pressed: number
}

/**
 * The least rate and its grace are those of ASP.NET's Kestrel
 * (https://learn.microsoft.com/aspnet/core/fundamentals/servers/kestrel/options, MinRequestBodyDataRate).
 */
export const bodyPace: BodyPace = { interval: 1_000, intervals: 5, least: 240, pressed: 8 * 1024 }

/**
 * A body that is being read, as the budget counts it. Rates are measured in intervals and not by the clock: when the
 * process itself stood still, what has come meanwhile is read before the next interval ends.
 */
export abstract class CountedBody {
  /** The bodies that it is counted with. The budget sets it. */
  group: BodyGroup | undefined
  /** Bytes of memory that it holds. The budget sets it. */
  held = 0
  /** Bytes that have come. */
  received = 0
  /** Bytes of the last whole interval; unknown before one is over. */
  #gain = Infinity
  /** What had come when the last interval ended; undefined before one has ended. */
  #before: number | undefined
  #intervals = 0
  #beforePeriod = 0

  /** The network of the client (client-address.ts). Only asked for when room is short. */
  abstract network(): string

  /** Ends the body with a problem. The budget has taken its bytes back already. */
  abstract drop(problem: Problem): void

  /** Ends an interval. @returns whether less than the least rate has come in the period that ends with it, if one does */
  endInterval({ interval, intervals, least }: BodyPace): boolean {
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
    return came < (least * interval * intervals) / 1_000
  }

  /** Whether it has come more slowly, in the last whole interval and since then, than is granted when room is short. */
  isSlow({ interval, pressed }: BodyPace): boolean {
    const enough = (pressed * interval) / 1_000
    return this.#gain < enough && this.received - (this.#before ?? 0) < enough
  }
}

/** The bodies of one client network, or those of which the network is not known yet. */
export class BodyGroup {
  /** In the order of their last progress: the one that has stood still longest is the first. */
  readonly bodies = new Set<CountedBody>()
  /** Bytes that they hold. */
  held = 0
  /** The number of the interval in which none of them was found slow. */
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

  /** Forgets them all, after others have taken them over. */
  clear(): void {
    this.bodies.clear()
    this.held = 0
    this.#latest = undefined
  }

  /** Notes that a part of it has come. */
  progressed(body: CountedBody): void {
    if (this.#latest === body) return
    this.bodies.delete(body)
    this.bodies.add(body)
    this.#latest = body
  }
}
