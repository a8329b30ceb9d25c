import type { RecordAudit } from '../accounts/audit/audit.ts'
import type { ModuleParts } from '../http/service-module.ts'
import type { Cursors } from '../paging/cursor.ts'
import type { DryRuns } from './dry-run/dry-runs.ts'
import type { WebhookEndpoint } from './endpoint/endpoint.ts'
import type { FindHandler } from './failed/store.ts'
import type { Reprocessing } from './failed/reprocess.ts'
import type { HandlerEntry } from './handler-routes.ts'
import type { PausedHandlers } from './handlers/paused.ts'
import type { PlanOf } from './handlers/plan.ts'
import type { EventQueue } from './queue/store.ts'
import type { Scheme } from './schemes/scheme.ts'

/** What the routes of this module use. */
export interface ReceivingRouteParts extends ModuleParts {
  sources: ReadonlyMap<string, Scheme>
  /** By source. */
  endpoints: ReadonlyMap<string, WebhookEndpoint>
  store: EventQueue
  planOf: PlanOf
  entries: readonly HandlerEntry[]
  paused: PausedHandlers
  findHandler: FindHandler
  reprocessing: Reprocessing
  dryRuns: DryRuns
  cursors: Cursors
  record: RecordAudit
}
