import type { Scheduler } from '../../runtime/clock.ts'
import type { WakeUps } from '../../runtime/repeated-pass.ts'
import type { InFlight } from '../../runtime/worker.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Pauses } from '../handlers/paused.ts'
import type { PlanOf } from '../handlers/plan.ts'
import type { EventQueue } from '../queue/store.ts'
import type { AttemptParts } from './attempt.ts'
import type { Claims, RestoredClaims } from './claims.ts'
import type { ConcurrencyGroups } from './concurrency-groups.ts'
import type { FailureParts } from './failures.ts'

/** What the worker is created from. */
export interface WorkerParts extends AttemptParts, FailureParts {
  store: EventQueue
  planOf: PlanOf
  pauses: Pauses
  metrics: Metrics
  /** Called for each run of a handler without an error, with its milliseconds. */
  onHandled?: ((handler: string, duration: number) => void) | undefined
  /** The event loop. Default: that of the process. */
  scheduler?: Pick<Scheduler, 'soon'> | undefined
  /** Closes what handlers use, after the last handler. */
  close: () => Promise<void>
}

/** What all parts of the worker use. */
export interface WorkerContext extends WorkerParts {
  groups: ConcurrencyGroups
  claims: Claims
  restored: RestoredClaims
  /** Work that a stop waits for: events until the end of their commit, and claims that are being released. */
  inFlight: InFlight
  wakeUps: WakeUps
  /** Whether more events may be claimed, and handlers started: false once the worker stops. */
  mayContinue: () => boolean
}
