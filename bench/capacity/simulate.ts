import { Chance } from '../../test/harness/chance.ts'
import { arrivals, burstsOf, curveOf, daySeconds, sharesOf, type Workload } from './workload.ts'

export interface Simulation {
  workload: Workload
  cells: number
  /** Events that one cell takes in a second. */
  perSecond: number
  /** Seconds that the primary of the largest cell is away, in the busiest minute; what comes then waits in the spool. */
  outage: number
  seed: number
}

export interface Simulated {
  arrived: number
  done: number
  left: number
  /** The busiest minute of the fullest cell, as a share of what it takes. */
  busiest: number
  /** Events a second of all cells in the busiest minute. */
  peakPerSecond: number
  /** Events a second of the largest owner in its busiest minute. */
  largestOwnerPerSecond: number
  /** Seconds that events waited: half of them at most, 99 of 100, 999 of 1000, and the longest. */
  waited: { p50: number; p99: number; p999: number; longest: number }
}

/**
 * One day, second by second. Owners are put into cells, the largest first, each into the cell that has least; each cell is a queue
 * that takes `perSecond` events in a second.
 */
export function simulate({ workload, cells, perSecond, outage, seed }: Simulation): Simulated {
  const chance = new Chance(seed)
  const shares = sharesOf(workload)
  const curve = curveOf(workload)
  const mean = workload.eventsPerDay / daySeconds
  const { cellOf, weights } = place(shares, cells)
  const extra = extraOf(workload, shares, cellOf, cells, chance)
  const fullest = weights.indexOf(Math.max(...weights))
  const busiestMinute = curve.indexOf(Math.max(...curve))

  const waiting = new Float64Array(cells)
  const waits = new Waits()
  const minutes = new Float64Array(cells * 1440)
  let [arrived, done] = [0, 0]
  for (let second = 0; second < daySeconds; second += 1) {
    const minute = Math.floor(second / 60)
    const rate = mean * curve[minute]!
    for (let cell = 0; cell < cells; cell += 1) {
      const came = arrivals(rate * (weights[cell]! + extra[cell]![second]!), chance)
      const away = cell === fullest && minute === busiestMinute && second % 60 < outage
      // An event waits for all that came before it, and for the primary.
      waits.add((waiting[cell]! + came / 2) / perSecond + (away ? outage - (second % 60) : 0), came)
      waiting[cell]! += came
      arrived += came
      minutes[cell * 1440 + minute]! += came
      const taken = away ? 0 : Math.min(waiting[cell]!, perSecond)
      waiting[cell]! -= taken
      done += taken
    }
  }
  const left = waiting.reduce((sum, count) => sum + count, 0)
  return {
    arrived,
    done,
    left,
    busiest: minutes.reduce((most, count) => Math.max(most, count), 0) / 60 / perSecond,
    peakPerSecond: busiestOf(minutes, cells) / 60,
    largestOwnerPerSecond: mean * Math.max(...curve) * shares[0]!,
    waited: waits.summary(),
  }
}

/** The largest owners first, each into the cell that has least so far. */
function place(shares: Float64Array, cells: number): { cellOf: Int32Array; weights: Float64Array } {
  const weights = new Float64Array(cells)
  const cellOf = Int32Array.from(shares, (share) => {
    let least = 0
    for (let cell = 1; cell < cells; cell += 1) if (weights[cell]! < weights[least]!) least = cell
    weights[least]! += share
    return least
  })
  return { cellOf, weights }
}

/** For each cell and second, what bursts add to its weight. */
function extraOf(
  workload: Workload,
  shares: Float64Array,
  cellOf: Int32Array,
  cells: number,
  chance: Chance,
): Float32Array[] {
  const extra = Array.from({ length: cells }, () => new Float32Array(daySeconds))
  for (const { owner, from, to } of burstsOf(workload, shares, chance)) {
    // What one owner may send is bounded (rateLimit): no burst is more than a twentieth of everything.
    const added = Math.min(shares[owner]! * (workload.burstFactor - 1), 0.05)
    const seconds = extra[cellOf[owner]!]!
    for (let second = from; second < Math.min(to, daySeconds); second += 1) seconds[second]! += added
  }
  return extra
}

function busiestOf(minutes: Float64Array, cells: number): number {
  let most = 0
  for (let minute = 0; minute < 1440; minute += 1) {
    let sum = 0
    for (let cell = 0; cell < cells; cell += 1) sum += minutes[cell * 1440 + minute]!
    most = Math.max(most, sum)
  }
  return most
}

/** How many events waited how long, in steps of a tenth, from a millisecond on. */
class Waits {
  readonly #counts = new Float64Array(200)
  #longest = 0

  add(seconds: number, count: number): void {
    this.#longest = Math.max(this.#longest, seconds)
    this.#counts[stepOf(seconds)]! += count
  }

  summary(): Simulated['waited'] {
    return {
      p50: this.#quantile(0.5),
      p99: this.#quantile(0.99),
      p999: this.#quantile(0.999),
      longest: this.#longest,
    }
  }

  #quantile(share: number): number {
    const total = this.#counts.reduce((sum, count) => sum + count, 0)
    let sum = 0
    for (const [step, count] of this.#counts.entries()) {
      sum += count
      if (sum >= total * share) return Math.min(this.#longest, 0.001 * 1.1 ** step)
    }
    return this.#longest
  }
}

function stepOf(seconds: number): number {
  return Math.min(199, Math.max(0, Math.ceil(Math.log(seconds / 0.001) / Math.log(1.1))))
}
