import { Chance } from '../../harness/chance.ts'
import type { TopologyName } from '../world.ts'
import type { Fault } from './fault.ts'
import { hostFaults } from './hosts.ts'
import { patroniFaults } from './patroni.ts'
import { pathFaults } from './paths.ts'
import { poolerFaults } from './pooler.ts'
import { processFaults } from './processes.ts'
import { serverFaults } from './servers.ts'
import { sessionFaults } from './sessions.ts'
import { versionFaults } from './versions.ts'
import { spoolFaults } from './spool.ts'

const faults: readonly Fault[] = [
  ...sessionFaults,
  ...serverFaults,
  ...pathFaults,
  ...processFaults,
  ...spoolFaults,
  ...patroniFaults,
  ...poolerFaults,
  ...hostFaults,
  ...versionFaults,
].filter(({ needs }) => needs === undefined || process.platform === 'linux')

export interface Planned {
  readonly fault: Fault
  /** Decides what the fault leaves open. */
  readonly seed: number
}

/** The faults of a seed, one after the other: in each part of the sequence every kind once. */
export function* plan(
  seed: number,
  only: readonly string[] = [],
  topology: TopologyName = 'pair',
): Generator<Planned, never> {
  const possible = faults.filter(({ topologies = ['pair'] }) => topologies.includes(topology))
  const unknown = only.filter((name) => !possible.some((fault) => fault.name === name))
  if (unknown.length > 0)
    throw new Error(
      `no such fault: ${unknown.join(', ')}. There are: ${possible.map(({ name }) => name).join(', ')}`,
    )
  const chosen = only.length === 0 ? possible : possible.filter(({ name }) => only.includes(name))
  const chance = new Chance(seed)
  for (;;) {
    const left = [...chosen]
    while (left.length > 0) {
      const [fault] = left.splice(chance.below(left.length), 1)
      yield { fault: fault!, seed: Math.floor(chance.next() * 2 ** 32) }
    }
  }
}
