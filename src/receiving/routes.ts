import type { RecordAudit } from '../accounts/audit/audit.ts'
import type { Cursors } from '../paging/cursor.ts'
import type { Activity } from './activity.ts'
import type { DryRuns } from './dry-run/dry-runs.ts'
import type { webhookRoutes } from './endpoint/endpoint.ts'
import type { FindHandler } from './failed/store.ts'
import type { Reprocessing } from './failed/reprocess.ts'
import type { PausedHandlers } from './handlers/paused.ts'
import type { planHandling, ReceivingParts } from './plan-handling.ts'
import type { RejectedLog } from './rejections/log.ts'
import type { attemptParts, storeEvents } from './store-events.ts'

/** What is created for the worker and the routes. */
export interface Assembled extends ReturnType<typeof planHandling>, ReturnType<typeof storeEvents> {
  attempts: ReturnType<typeof attemptParts>
  rejected: RejectedLog
  activity: Activity
  paused: PausedHandlers
}

/** What the routes of this module use. */
export interface ReceivingRouteParts extends ReceivingParts, Assembled {
  /** By source. */
  endpoints: ReturnType<typeof webhookRoutes>
  findHandler: FindHandler
  reprocessing: Reprocessing
  dryRuns: DryRuns
  cursors: Cursors
  record: RecordAudit
}
