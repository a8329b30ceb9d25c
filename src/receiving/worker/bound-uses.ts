import type { Bound } from '../handlers/plan.ts'

/** What a concurrency group runs and has claimed. */
export interface GroupUse {
  readonly running: number
  /** Events that it has claimed, or is claiming, and has not started. */
  readonly taken: number
  readonly queue: readonly unknown[]
  /** Whether its handlers have been quick lately. */
  readonly pace: { readonly isQuick: boolean }
}

interface BoundUse {
  running: number
  /** The most that ran at once since the last call of `drainPeak`. */
  peak: number
  readonly groups: Set<GroupUse>
}

/** The handlers of each bound, over all groups. */
export class BoundUses {
  readonly #uses = new Map<string, BoundUse>()

  /** Notes that a group has events of these bounds. */
  join(group: GroupUse, bounds: readonly Bound[]): void {
    for (const { key } of bounds) this.#useOf(key).groups.add(group)
  }

  /** Counts handlers that begin; a negative count, those that end. */
  count(bounds: readonly Bound[], count: number): void {
    for (const { key } of bounds) {
      const use = this.#useOf(key)
      use.running += count
      use.peak = Math.max(use.peak, use.running)
    }
  }

  /** How many handlers of a bound are running. */
  running(key: string): number {
    return this.#uses.get(key)?.running ?? 0
  }

  /** The most handlers of a bound that ran at once since the last call. */
  drainPeak(key: string): number {
    const use = this.#uses.get(key)
    if (!use) return 0
    const { peak, running } = use
    use.peak = running
    return peak
  }

  /** Events of a bound that other groups have claimed and not started. */
  takenByOthers({ key }: Bound, own: GroupUse | undefined): number {
    return sum(this.#others(key, own), ({ taken }) => taken)
  }

  /** Slots of a bound that other groups use, or will use, for handlers that are not quick. */
  heldBySlow({ key }: Bound, own: GroupUse | undefined): number {
    const slow = this.#others(key, own).filter(({ pace }) => !pace.isQuick)
    return sum(slow, ({ running, taken }) => running + taken)
  }

  /** Whether other groups with quick handlers have queued events of one of these bounds. */
  isQueuedByQuick(bounds: readonly Bound[], own: GroupUse | undefined): boolean {
    return bounds.some(({ key }) =>
      this.#others(key, own).some(({ queue, pace }) => queue.length > 0 && pace.isQuick),
    )
  }

  #others(key: string, own: GroupUse | undefined): GroupUse[] {
    return [...(this.#uses.get(key)?.groups ?? [])].filter((group) => group !== own)
  }

  #useOf(key: string): BoundUse {
    let use = this.#uses.get(key)
    if (!use) this.#uses.set(key, (use = { running: 0, peak: 0, groups: new Set() }))
    return use
  }
}

function sum(groups: readonly GroupUse[], of: (group: GroupUse) => number): number {
  return groups.reduce((all, group) => all + of(group), 0)
}
