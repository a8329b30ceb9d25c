import type { Chance } from '../../test/harness/chance.ts'

/** What comes in and goes out in one day. Webhooks and deliveries count alike: each is an event. */
export interface Workload {
  eventsPerDay: number
  /** Of them, the share that is received; the rest is delivered. */
  received: number
  owners: number
  /** Exponent of Zipf's law: the owner of rank r has a share in proportion to r^-skew. */
  skew: number
  /** The busiest minute of the day, as a multiple of the mean. */
  peak: number
  /** Bursts in a day: an owner, drawn by its share, sends this many times its rate for some minutes. */
  bursts: number
  burstFactor: number
}

export const defaults: Workload = {
  eventsPerDay: 1e9,
  received: 0.5,
  owners: 20_000,
  skew: 1.05,
  peak: 2.5,
  bursts: 500,
  burstFactor: 20,
}

export const daySeconds = 86_400

/** The share of each owner, the largest first; they add up to 1. */
export function sharesOf({ owners, skew }: Workload): Float64Array {
  const shares = Float64Array.from({ length: owners }, (_, rank) => (rank + 1) ** -skew)
  const sum = shares.reduce((total, share) => total + share, 0)
  return shares.map((share) => share / sum)
}

/** What each minute of the day has of the mean: exp(k cos t), with k such that the highest is `peak`. */
export function curveOf({ peak }: Workload): Float64Array {
  const curve = (k: number): Float64Array => {
    const raw = Float64Array.from({ length: 1440 }, (_, minute) =>
      Math.exp(k * Math.cos((2 * Math.PI * (minute - 840)) / 1440)),
    )
    const mean = raw.reduce((total, value) => total + value, 0) / raw.length
    return raw.map((value) => value / mean)
  }
  let [low, high] = [0, 20]
  for (let step = 0; step < 50; step += 1) {
    const middle = (low + high) / 2
    if (Math.max(...curve(middle)) < peak) low = middle
    else high = middle
  }
  return curve(high)
}

export interface Burst {
  owner: number
  from: number
  to: number
}

/** Bursts of one to ten minutes, of owners that are drawn by their shares. */
export function burstsOf({ bursts }: Workload, shares: Float64Array, chance: Chance): Burst[] {
  const sums = new Float64Array(shares.length)
  let sum = 0
  for (const [owner, share] of shares.entries()) sums[owner] = sum += share
  return Array.from({ length: bursts }, () => {
    const drawn = chance.next() * sum
    const owner = Math.min(shares.length - 1, firstAtLeast(sums, drawn))
    const from = chance.below(daySeconds)
    return { owner, from, to: from + 60 + chance.below(540) }
  })
}

function firstAtLeast(sums: Float64Array, value: number): number {
  let [low, high] = [0, sums.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sums[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}

/** Normal approximation of Poisson's law, good from some ten on; never negative. */
export function arrivals(mean: number, chance: Chance): number {
  const normal = Math.sqrt(-2 * Math.log(1 - chance.next())) * Math.cos(2 * Math.PI * chance.next())
  return Math.max(0, mean + Math.sqrt(mean) * normal)
}
