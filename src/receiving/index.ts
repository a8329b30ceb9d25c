import { once } from 'node:events'
import type { App } from '../http/app.ts'
import type { ServiceModule, SpoolStatus } from '../http/service-module.ts'
import type { Worker } from '../runtime/worker.ts'
import { Activity } from './activity.ts'
import { endingSecrets, failingHandlers } from './attention.ts'
import { Reprocessing, reprocessWorker } from './failed/reprocess.ts'
import { FailureGroups } from './failure-groups/tally.ts'
import { PausedHandlers } from './handlers/paused.ts'
import { RejectedLog } from './rejections/log.ts'
import { HandlerWorker } from './worker/worker.ts'
import { planHandling, type ReceivingParts } from './plan-handling.ts'
import { attemptParts, storeEvents } from './store-events.ts'
import { contains, type Finder, type Found } from '../http/finder.ts'
import { createRecordAudit } from '../accounts/audit/audit.ts'
import { Cursors } from '../paging/cursor.ts'
import { Backlog, postgresRates } from './endpoint/admission.ts'
import { dryRunRoutes, DryRuns } from './dry-run/dry-runs.ts'
import type { Assembled, ReceivingRouteParts } from './routes.ts'
import { failedRoutes } from './failed/routes.ts'
import { failureRoutes } from './failure-groups/routes.ts'
import { handlerRoutes } from './handler-routes.ts'
import { rejectedRoutes } from './rejections/routes.ts'
import { webhookRoutes } from './endpoint/endpoint.ts'
import { sourceRoutes } from './source-routes.ts'

export type { ReceivingConfig } from './config.ts'

export interface Receiving extends ServiceModule {
  /** Whether webhooks go to the spool now, and its size; undefined without a spool. */
  readonly spool: SpoolStatus | undefined
  /** Whether the disk of the database did not take the last webhooks, within the last seconds. */
  readonly isRefusing: () => boolean
  /** On SQLite: checks the spool beside the database. @throws StorageUnavailable if no webhook can be stored because of it */
  readonly checkSpool: (() => Promise<void>) | undefined
}

/**
 * Webhooks in: verified, stored durably, acknowledged, processed once.
 * @throws ConfigurationError if the sources or handlers of the configuration module are invalid.
 */
export function createReceiving(parts: ReceivingParts): Receiving {
  const { configuration, database, clock, log } = parts
  showHandlerFrames()
  const handling = planHandling(parts)
  const activity = new Activity({ database, clock, log, rejectedRetention: configuration.rejectedRetention })
  const paused = new PausedHandlers({ database, clock })
  const storing = storeEvents(parts, activity)
  const { store, acceptor, fallback, isRefusing } = storing
  const rejected = new RejectedLog(activity, clock)
  const attempts = attemptParts(parts, store)
  const assembled = { ...handling, ...storing, attempts, rejected, activity, paused }
  const worker = handlerWorker(parts, assembled)
  let app: App | undefined
  /** Stores received events until the last request has been answered. */
  const queueWorker: Worker = {
    name: 'event-queue',
    start: () => undefined,
    async stop(deadline) {
      const { server } = app ?? {}
      if (server?.listening) await once(server, 'close', { signal: deadline }).catch(() => undefined)
      await acceptor.close()
      await Promise.all([fallback?.stop(), activity.close()])
      await store.close()
    },
  }
  return {
    spool: fallback,
    isRefusing,
    checkSpool: store.checkSpool && (async () => store.checkSpool?.()),
    finders: [
      receivingFinder(
        handling.sources.keys(),
        handling.declared.map(({ key }) => key),
      ),
    ],
    attention: async (now) => [
      ...(await failingHandlers(database, handling.planOf, now)),
      ...endingSecrets(handling.sources, now),
    ],
    workers: [queueWorker, worker, reprocessWorker({ database, clock, log })],
    async routes(given) {
      app = given
      fallback?.start()
      declareRoutes(given, parts, assembled)
    },
  }
}

function handlerWorker(parts: ReceivingParts, assembled: Assembled): HandlerWorker {
  const { activity, attempts, store, planOf, paused } = assembled
  const { configuration, database, metrics, random = Math.random } = parts
  return new HandlerWorker({
    ...attempts,
    database,
    store,
    random,
    metrics,
    schedule: configuration.handlerRetrySchedule,
    planOf,
    pauses: paused,
    failureGroups: new FailureGroups(activity, configuration.payloadRetention),
    onHandled(handler, duration) {
      activity.of('handler', handler, 'handled').add()
      activity.of('handler', handler, 'milliseconds').add(duration)
    },
    onFailed: (handler) => activity.of('handler', handler, 'failed').add(),
    async close() {
      await assembled.close()
      await activity.close()
    },
  })
}

/** Between a failed statement and the handler that made it are up to a dozen frames of libraries and of this service. */
const frames = 30

/** Node.js keeps ten frames of an error, which do not always reach the handler's own line. A higher limit of the process stays. */
function showHandlerFrames(): void {
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, frames)
}

function receivingFinder(sources: Iterable<string>, handlers: Iterable<string>): Finder {
  const all: Found[] = [
    ...[...sources].map((name): Found => ({ kind: 'source', id: name, title: name, detail: null })),
    ...[...handlers].map((key): Found => ({ kind: 'handler', id: key, title: key, detail: null })),
  ]
  return {
    scope: 'webhooks:read',
    find: (text) => Promise.resolve(all.filter(({ title }) => contains(title, text))),
  }
}

function declareRoutes(app: App, parts: ReceivingParts, assembled: Assembled): void {
  const { database, clock, log } = parts
  const { sources, declared, planOf, store, attempts, paused } = assembled
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
    log.warn(
      { err: error },
      'the rateLimit of a source could not be shared between processes: this process counts alone',
    )
  const sharedRates =
    database.engine === 'postgres'
      ? { reserve: postgresRates(database.pool), clock, onError: onRateError }
      : undefined
  const record = createRecordAudit(clock)
  const withActions = [...sources].filter(([, scheme]) => scheme.typesHaveActions).map(([name]) => name)
  const all: ReceivingRouteParts = {
    ...parts,
    ...assembled,
    record,
    endpoints: webhookRoutes(app, { ...parts, ...assembled, backlog, sharedRates }),
    cursors: new Cursors(parts.keyring),
    reprocessing: new Reprocessing(database, clock, record),
    dryRuns: new DryRuns({ ...attempts, database, planOf, sources, record }),
    findHandler: (key) =>
      declared.some((handler) => handler.key === key) ? { key, withActions } : undefined,
  }
  handlerRoutes(app, all)
  sourceRoutes(app, all)
  rejectedRoutes(app, all)
  dryRunRoutes(app, all)
  failureRoutes(app, all)
  failedRoutes(app, all)
}
