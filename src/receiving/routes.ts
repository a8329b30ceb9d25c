import { createRecordAudit } from '../accounts/audit/audit.ts'
import type { App } from '../http/app.ts'
import { Cursors } from '../paging/cursor.ts'
import type { Activity } from './activity/activity.ts'
import { Backlog } from './endpoint/backlog.ts'
import { dryRunRoutes, DryRuns } from './dry-run/dry-runs.ts'
import type { FindHandler } from './failed/filter.ts'
import { Reprocessing } from './failed/reprocess.ts'
import { failedRoutes } from './failed/routes.ts'
import { failureRoutes } from './failure-groups/routes.ts'
import { urlOf } from './forward-target.ts'
import { handlerRoutes } from './handler-views/routes.ts'
import type { PausedHandlers } from './handlers/paused.ts'
import type { RejectedLog } from './rejections/log.ts'
import { rejectedRoutes } from './rejections/routes.ts'
import { webhookRoutes } from './endpoint/webhook-routes.ts'
import { sourceRoutes } from './sources/routes.ts'
import { postgresRates } from './endpoint/shared-source-rate.ts'
import type { ReceivingParts } from './parts.ts'
import type { planHandling } from './plan-handling.ts'
import type { attemptParts, storeEvents } from './store-events.ts'

/** What index.ts creates for the worker and the routes. */
export interface Made extends ReturnType<typeof planHandling>, ReturnType<typeof storeEvents> {
  attempts: ReturnType<typeof attemptParts>
  rejected: RejectedLog
  activity: Activity
  paused: PausedHandlers
}

/** Declares all calls of the module. */
export function declareRoutes(app: App, parts: ReceivingParts, made: Made): void {
  const { configuration, database, clock, log, metrics } = parts
  const { sources, declared, planOf, acceptor, store, attempts, rejected, activity, paused, entries } = made
  const backlog = new Backlog({
    store,
    clock,
    prepare: () => paused.refresh(),
    isHeld: ({ source, type }) => {
      const plan = planOf(source, type)
      return plan.handlers.length === 0 || paused.isPaused(plan)
    },
    onError: (error) => log.warn({ err: error }, 'the age of the oldest received event could not be read'),
  })
  const onRateError = (error: unknown): void =>
    log.warn({ err: error }, 'the rate of a source could not be shared, so this process counts alone')
  const sharedRates =
    database.engine === 'postgres'
      ? { reserve: postgresRates(database.pool), clock, onError: onRateError }
      : undefined
  const endpoints = webhookRoutes(app, {
    sources,
    acceptor,
    backlog,
    planOf,
    configuration,
    clock,
    log,
    metrics,
    rejected,
    sharedRates,
    activity,
  })
  const record = createRecordAudit(clock)
  const urlOfSource = (source: string): string => `${parts.baseUrl()}/webhooks/${source}`
  handlerRoutes(app, { database, clock, store, planOf, entries, paused, record })
  sourceRoutes(app, { sources, database, clock, record, endpoints, urlOf: urlOfSource })
  const cursors = new Cursors(parts.keyring)
  rejectedRoutes(app, { database, cursors })
  const withActions = [...sources].filter(([, scheme]) => scheme.typesHaveActions).map(([name]) => name)
  const findHandler: FindHandler = (key) =>
    declared.some((handler) => handler.key === key) ? { key, withActions } : undefined
  const targetOf = (source: string): string | undefined => {
    const target = sources.get(source)?.forwardTo
    return target === undefined ? undefined : urlOf(target)
  }
  const reprocessing = new Reprocessing(database, clock, record)
  const dryRuns = new DryRuns({ ...attempts, database, planOf, targetOf, record })
  dryRunRoutes(app, { dryRuns })
  failureRoutes(app, { database, clock, cursors, reprocessing })
  failedRoutes(app, {
    database,
    cursors,
    reprocessing,
    dryRuns,
    findHandler,
  })
}
