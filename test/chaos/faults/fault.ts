import { setTimeout as wait } from 'node:timers/promises'
import { Chance } from '../../harness/chance.ts'
import type { TopologyName, World } from '../world.ts'

export const everywhere: readonly TopologyName[] = ['pair', 'patroni', 'pgbouncer']

/** What a fault leaves to chance. */
export class Draw extends Chance {
  readonly #longest: number

  /** @param longest the milliseconds of whatever takes a time, at most */
  constructor(seed: number, longest = Infinity) {
    super(seed)
    this.#longest = longest
  }

  /** Milliseconds from `least` to `most`. */
  ms(least: number, most: number): number {
    return Math.min(Math.round(least + (most - least) * this.next()), this.#longest)
  }
}

/** Something that happens to a database, to the path to it, or to a process. */
export interface Fault {
  readonly name: string
  /** What it needs beside the programs of PostgreSQL. */
  readonly needs?: 'Linux'
  /** Behind which paths it can be made. Default: `pair`. */
  readonly topologies?: readonly TopologyName[]
  /** What must be before it begins, such as a standby. */
  prepare?(world: World, chance: Draw): Promise<void>
  /** Resolves when everything is as it should be again, with what it has done. */
  run(world: World, chance: Draw): Promise<string>
}

/** Waits for so long, and says how long that was. */
export async function last(ms: number): Promise<string> {
  await wait(ms)
  return `${(ms / 1000).toFixed(1)} s`
}
