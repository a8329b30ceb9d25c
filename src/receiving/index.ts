import { once } from 'node:events'
import { createRecordAudit } from '../accounts/audit/audit.ts'
import type { Random } from '../runtime/clock.ts'
import type { App } from '../http/app.ts'
import type { ModuleParts, ServiceModule, SpoolStatus } from '../http/service-module.ts'
import type { Worker } from '../runtime/worker.ts'
import { createOutboundAgent } from '../network/outbound-agent.ts'
import { Cursors } from '../paging/cursor.ts'
import { Activity } from './activity/activity.ts'
import { createAcceptor, type InsertEvents } from './endpoint/acceptor.ts'
import { endingSecrets, failingHandlers } from './attention.ts'
import { Backlog } from './endpoint/backlog.ts'
import type { Delivered } from './endpoint/evaluate.ts'
import type { EmitWithin } from './worker/attempt.ts'
import type { ReceivingConfig } from './config.ts'
import {
  readHandlers,
  type ProviderTokenSource,
  type RegisteredHandler,
} from './handlers/declared-handlers.ts'
import { dryRunRoutes } from './dry-run/routes.ts'
import { DryRuns } from './dry-run/dry-runs.ts'
import type { FindHandler } from './failed/filter.ts'
import { Reprocessing, reprocessWorker } from './failed/reprocess.ts'
import { failedRoutes } from './failed/routes.ts'
import { forwardTo, sendOver } from './forward.ts'
import { FailureGroups } from './failure-groups/tally.ts'
import { failureRoutes } from './failure-groups/routes.ts'
import { keysOf, urlOf, withoutCredentials } from './forward-target.ts'
import { receivingFinder } from './finder.ts'
import type { HandlerEntry } from './handler-views/describe.ts'
import { handlerRoutes } from './handler-views/routes.ts'
import { Handlers } from './handlers/matching.ts'
import { PausedHandlers } from './handlers/paused.ts'
import { plansOver } from './handlers/plan.ts'
import { RejectedLog } from './rejections/log.ts'
import { rejectedRoutes } from './rejections/routes.ts'
import { webhookRoutes } from './routes.ts'
import { readSources } from './sources.ts'
import { sourceRoutes } from './sources/routes.ts'
import { openEventQueue } from './queue/event-queue.ts'
import { postgresRates } from './postgres/source-rates.ts'
import { Fallback } from './spool/fallback.ts'
import { measureSpool } from './spool/metrics.ts'
import type { OpenSpool } from './spool/open.ts'
import { AbortBroadcast } from '../runtime/abort-broadcast.ts'
import type { EventQueue, Mark } from './queue/store.ts'
import { HandlerWorker } from './worker/worker.ts'

export interface ReceivingParts extends ModuleParts {
  config?: ReceivingConfig | undefined
  random?: Random
  /** Emits events in a handler's transaction. */
  emitWithin: EmitWithin
  /** For handlers that declare `providerTokens`. */
  providerTokens?: ProviderTokenSource
  /** Stores events while the database is unavailable. The caller closes it after this room has stopped. */
  spool?: OpenSpool | undefined
}

export type { ReceivingConfig } from './config.ts'

export interface Receiving extends ServiceModule {
  /** Whether webhooks go to the spool now, and its size; undefined without a spool. */
  readonly spool: SpoolStatus | undefined
  /** Verifies and stores a webhook that this service has signed. To be called when the routes are declared. */
  takeSample(source: string, delivered: Delivered): Promise<void>
}

/**
 * Webhooks in: verified, stored durably, acknowledged, processed once.
 * @throws ConfigurationError if the sources or handlers of the configuration module are invalid.
 */
export function createReceiving(parts: ReceivingParts): Receiving {
  const { configuration, database, clock, log } = parts
  const handling = planHandling(parts)
  const activity = new Activity({ database, clock, log })
  const paused = new PausedHandlers({ database, clock })
  const storing = storeEvents(parts, activity)
  const { store, acceptor, fallback } = storing
  const rejected = new RejectedLog({ database, clock, log, period: configuration.rejectedRetention })
  const attempts = attemptParts(parts, store)
  const worker = new HandlerWorker({
    ...attempts,
    database,
    store,
    random: parts.random ?? Math.random,
    metrics: parts.metrics,
    schedule: configuration.handlerRetrySchedule,
    planOf: handling.planOf,
    pauses: paused,
    failureGroups: new FailureGroups(activity, configuration.payloadRetention),
    onHandled(handler, duration) {
      activity.of('handler', handler, 'handled').add()
      activity.of('handler', handler, 'milliseconds').add(duration)
    },
    onFailed: (handler) => activity.of('handler', handler, 'failed').add(),
    async close() {
      await handling.close()
      await activity.close()
    },
  })
  let app: App | undefined
  let endpoints: Awaited<ReturnType<typeof declareRoutes>> | undefined
  /** Stores received events until the last request has been answered. */
  const queueWorker: Worker = {
    name: 'event-queue',
    start: () => undefined,
    async stop(deadline) {
      const { server } = app ?? {}
      if (server?.listening) await once(server, 'close', { signal: deadline }).catch(() => undefined)
      await acceptor.close()
      await Promise.all([fallback?.stop(), rejected.close(), activity.close()])
      await store.close()
    },
  }
  return {
    spool: fallback,
    async takeSample(source, delivered) {
      const endpoint = endpoints?.get(source)
      if (!endpoint) throw new Error(`there is no source ${source}`)
      await endpoint.takeSample(delivered)
    },
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
      endpoints = await declareRoutes(given, parts, {
        ...handling,
        ...storing,
        attempts,
        rejected,
        activity,
        paused,
      })
    },
  }
}

/** The id of what forwards the events of a source. */
const forwardId = (source: string): string => `forwardTo:${source}`

/** How the events of each source and type are handled. */
function planHandling(parts: ReceivingParts) {
  const { configuration, config = {}, database, clock, keyring } = parts
  const { handlerTimeout } = configuration
  const sources = readSources(config.sources, configuration)
  const declared = readHandlers(config.handlers, handlerTimeout, parts.providerTokens, config.eventTypes)
  const handlers = new Handlers(declared)
  // The operator chooses these addresses, and most of them are private.
  const agent = createOutboundAgent({ allowPrivateNetwork: true })
  const send = sendOver(agent, clock)
  const forwards = new Map<string, readonly RegisteredHandler[]>()
  const entries: HandlerEntry[] = declared.map((handler) => ({ handler }))
  for (const [name, { forwardTo: target }] of sources) {
    if (target === undefined) continue
    const handle = forwardTo(urlOf(target), keysOf(target, name, keyring), send, clock)
    const handler: RegisteredHandler = {
      id: forwardId(name),
      key: 'forwardTo',
      handle,
      timeout: handlerTimeout,
      concurrency: undefined,
      orderBy: undefined,
    }
    forwards.set(name, [handler])
    entries.push({ handler, forward: { source: name, to: withoutCredentials(urlOf(target)) } })
  }
  const planOf = plansOver(
    database.engine,
    (source, type) => forwards.get(source) ?? handlers.of(type, sources.get(source)?.typesHaveActions),
  )
  return { sources, declared, entries, planOf, close: () => agent.destroy() }
}

/** The event queue, and what stores events into it. */
function storeEvents({ database, clock, log, metrics, spool }: ReceivingParts, activity: Activity) {
  const onError = (error: unknown): void =>
    log.warn({ err: error }, 'spooled events could not be moved to the database')
  const onClaimerError = (error: unknown): void =>
    log.warn({ err: error }, 'the session that holds the claims of events has broken')
  const duplicates = metrics.counter(
    'postern_webhook_duplicates_total',
    'Acknowledged webhooks whose event was stored before',
  )
  const store = openEventQueue({
    database,
    clock,
    onError,
    onClaimerError,
    onDuplicate(source) {
      duplicates.inc(1)
      activity.of('source', source, 'duplicate').add()
    },
  })
  const fallback =
    spool &&
    new Fallback({
      ...spool,
      keep: (events, within) => store.insert(events, within),
      ping: () => database.ping(),
      clock,
      log,
    })
  if (fallback) measureSpool(fallback, metrics, clock, log)
  const insert: InsertEvents = fallback?.keep ?? ((events) => store.insert(events))
  const acceptor = createAcceptor(insert, onError, { concurrency: store.commits })
  metrics.gauge('postern_inbox_waiting_events', 'Verified events that wait for their commit', [], (gauge) =>
    gauge.set(acceptor.waiting),
  )
  metrics.gauge(
    'postern_inbox_waiting_bytes',
    'Bytes of verified events that wait for their commit',
    [],
    (gauge) => gauge.set(acceptor.waitingBytes),
  )
  return { store, acceptor, fallback }
}

function attemptParts(
  { configuration, database, clock, log, emitWithin }: ReceivingParts,
  store: EventQueue,
) {
  return {
    transactions: database.share<Mark>((tx, marks) => store.mark(tx, marks)),
    aborts: new AbortBroadcast(),
    clock,
    log,
    emitWithin,
    // On PostgreSQL an open transaction does not block other writers.
    transactionTimeout: database.engine === 'sqlite' ? configuration.handlerTransactionTimeout : undefined,
  }
}

interface RouteParts extends ReturnType<typeof planHandling>, ReturnType<typeof storeEvents> {
  attempts: ReturnType<typeof attemptParts>
  rejected: RejectedLog
  activity: Activity
  paused: PausedHandlers
}

/** Returns what answers each source. */
async function declareRoutes(app: App, parts: ReceivingParts, made: RouteParts) {
  const { configuration, database, clock, log, metrics } = parts
  const { sources, declared, planOf, acceptor, store, attempts, rejected, activity, paused, entries } = made
  const backlog = new Backlog({
    store,
    clock,
    prepare: () => paused.refresh(),
    isHeld: ({ source, type }) => paused.holds(planOf(source, type)),
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
  failureRoutes(app, { database, clock, cursors, record, reprocessing })
  failedRoutes(app, {
    database,
    cursors,
    reprocessing,
    dryRuns,
    findHandler,
  })
  return endpoints
}
