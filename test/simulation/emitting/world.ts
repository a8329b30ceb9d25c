import type { Chance } from '../../harness/chance.ts'
import type { Weather } from '../receiving/faults.ts'
import type { VirtualTime } from '../receiving/virtual-time.ts'
import type { Receivers } from './receivers.ts'
import type { Tables } from './tables.ts'

/** What all processes of a run have in common. */
export interface World {
  /** On SQLite there is one process, and its lanes are written nowhere. */
  readonly engine: 'sqlite' | 'postgres'
  readonly time: VirtualTime
  readonly chance: Chance
  readonly tables: Tables
  readonly receivers: Receivers
  /** Changes in the course of a run. */
  weather: Weather
  readonly schedule: readonly number[]
  readonly trace: (who: string, what: string) => void
  /** Tells all processes that there may be something to do. */
  readonly notify: () => void
  /** Tells the others that a subscriber was changed. */
  readonly tell: (teller: string, subscriberId: string) => void
  readonly fail: (what: string) => void
}
