import type { Signal } from '../../../src/storage/database.ts'
import type { Chance } from '../../harness/chance.ts'
import type { BoundedRuns } from './bounded-runs.ts'
import type { Claimers } from './claimers.ts'
import type { Weather } from './faults.ts'
import type { Server } from './server.ts'
import type { SlotTable } from './slots.ts'
import type { Storage } from './storage.ts'
import type { VirtualTime } from './virtual-time.ts'

/** What all processes of a run have in common. */
export interface World {
  readonly engine: 'sqlite' | 'postgres'
  readonly time: VirtualTime
  readonly chance: Chance
  readonly storage: Storage
  readonly server: Server
  readonly claimers: Claimers
  readonly slots: SlotTable
  /** What is under way of handlers that declare a concurrency, in all processes. */
  readonly bounded: BoundedRuns
  /** Changes in the course of a run. */
  weather: Weather
  /** Writes a line of what happens, where somebody wants to read it. */
  readonly trace: (who: string, what: string) => void
  /** A name that nothing else has. */
  readonly newName: (what: string) => string
  /** Tells it to all processes. */
  readonly notify: (name: Signal) => void
}
