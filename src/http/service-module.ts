import type { Configuration } from '../config/environment.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Worker } from '../runtime/worker.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { App } from './app.ts'
import type { FindAttention } from './attention.ts'
import type { Finder } from './finder.ts'

/** What create-modules.ts gives to every module. */
export interface ModuleParts {
  configuration: Configuration
  database: Database
  keyring: Keyring
  clock: Clock
  log: Log
  metrics: Metrics
  /** The public address of the service. */
  baseUrl: () => string
}

/** What each module provides to create-modules.ts. */
export interface ServiceModule {
  routes(app: App): void | Promise<void>
  readonly workers: readonly Worker[]
  /** What it contributes to the search of all things. */
  readonly finders?: readonly Finder[]
  /** Its part of what needs attention. */
  readonly attention?: FindAttention
}

/** The spool that stores received webhooks while the database does not answer. */
export interface SpoolStatus {
  /** Whether the database is known to be away, so that webhooks go to the spool. */
  readonly away: boolean
  /**
   * Its number of events, when the oldest of them was received (milliseconds since 1970), and whether it is full.
   * @throws StorageUnavailable when that cannot be read now.
   */
  state(): Promise<{ readonly events: number; readonly oldest: number | undefined; readonly full: boolean }>
}
