import type { Plan } from './plan.ts'

interface Lane {
  running: number
  /** Events at a time that it deserves: one after a transaction that ran out of time, doubled by each success. */
  trust: number
}

const fullTrust = 1024

/** Counts what is under way, so that no lane takes what the others need. */
export class Lanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #bounds = new Map<string, number>()

  /**
   * How many more events of a plan may be begun now.
   * @param scarce whether little is left for all together: then only a lane with nothing under way gets one
   */
  room({ lane, bounds }: Plan, scarce: boolean): number {
    const { running, trust } = this.#lanes.get(lane.key) ?? { running: 0, trust: fullTrust }
    return Math.min(
      Math.min(scarce ? 1 : lane.limit, trust) - running,
      ...bounds.map(({ key, limit }) => limit - (this.#bounds.get(key) ?? 0)),
    )
  }

  /** Whether at least half of a lane is free, so that a claim for it is worth its commit. */
  halfFree({ lane }: Plan): boolean {
    return (this.#lanes.get(lane.key)?.running ?? 0) * 2 <= lane.limit
  }

  take({ lane, bounds }: Plan, count: number): void {
    const found = this.#lanes.get(lane.key)
    if (found) found.running += count
    else this.#lanes.set(lane.key, { running: count, trust: fullTrust })
    for (const { key } of bounds) this.#bounds.set(key, (this.#bounds.get(key) ?? 0) + count)
  }

  giveBack({ lane, bounds }: Plan, count: number): void {
    const found = this.#lanes.get(lane.key)
    if (found) found.running -= count
    for (const { key } of bounds) this.#bounds.set(key, (this.#bounds.get(key) ?? 0) - count)
  }

  /** It had kept the others from writing: one at a time from now on. */
  distrust({ lane }: Plan): void {
    const found = this.#lanes.get(lane.key)
    if (found) found.trust = 1
  }

  trust({ lane }: Plan): void {
    const found = this.#lanes.get(lane.key)
    if (found && found.trust < fullTrust) found.trust *= 2
  }
}
