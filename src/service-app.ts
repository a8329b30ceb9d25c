import type { Destinations } from './alerts/destinations.ts'
import type { PosternConfig } from './define-config.ts'
import { checkNames, createDiagnostics, type CheckName } from './diagnostics/index.ts'
import { demoProviderName } from './demo/identity-provider.ts'
import { insertSampleHistory } from './demo/sample-history.ts'
import { createSampleAlerts } from './demo/sample-alerts.ts'
import { insertSampleJobs } from './demo/sample-jobs.ts'
import { sampleKeyIds } from './demo/sample-keys.ts'
import { insertSamplePeople } from './demo/sample-people.ts'
import { insertSampleRefusals, sampleRefusals } from './demo/sample-refusals.ts'
import { createSampleCustomer, sampleCustomerSubscribers } from './demo/sample-customer.ts'
import { receiveSampleEvents, sampleEventsUntil, sampleSource, sampleTypes } from './demo/sample-events.ts'
import { createSampleSubscriber, sampleSubscriberId } from './demo/subscriber.ts'
import type { App } from './http/app.ts'
import { createApp, type Timeouts } from './http/create-app.ts'
import { postgresCallCounts } from './http/limits/call-counts.ts'
import { refuseOtherHosts } from './http/access/loopback-only.ts'
import { findRoute } from './http/operations/find-route.ts'
import type { ModuleParts } from './http/service-module.ts'
import type { Modules } from './create-modules.ts'
import type { SettingsSource } from './config/shown-settings.ts'
import type { BodyLimits } from './http/body/budget.ts'
import { operations } from './http/operations/routes.ts'
import type { Worker } from './runtime/worker.ts'
import type { HistoryStore } from './telemetry/history/store.ts'
import type { createMetricsHistory } from './telemetry/history/index.ts'

export interface AppParts {
  config?: PosternConfig | undefined
  /** How long a sender may take for a request. */
  timeouts?: Timeouts
  /** What bodies that are being read may take. */
  bodies?: Partial<BodyLimits>
  /** Where the settings come from, for GET /settings. Default: the environment of the process. */
  settings?: SettingsSource
}

/** Creates the application, without routes. */
export function createServiceApp(
  { configuration, log, clock, database, baseUrl }: ModuleParts,
  { timeouts, bodies }: AppParts,
  { accounts, emitting }: Modules,
): Promise<App> {
  return createApp({
    configuration,
    log,
    clock,
    authenticate: accounts.authenticate,
    describeSession: accounts.describeSession,
    authenticatePortal: emitting.authenticatePortal,
    noteForeignCall: accounts.noteForeignCall,
    noteForbidden: accounts.noteForbidden,
    baseUrl,
    timeouts,
    bodies,
    countCalls: database.engine === 'postgres' ? postgresCallCounts(database) : undefined,
  })
}

/** Declares the calls for operators. Returns what needs attention. */
export function declareOperations(
  app: App,
  common: ModuleParts,
  parts: AppParts,
  { modules, ...running }: { modules: Modules; history: History; workers: readonly Worker[] },
) {
  return operations(app, {
    ...common,
    ...running,
    checklist: checklistParts(common, parts.config),
    attention: modules.rooms.flatMap(({ attention }) => attention ?? []),
    spool: modules.receiving.spool,
    isRefusing: modules.receiving.isRefusing,
    checkSpool: modules.receiving.checkSpool,
    ...diagnosticParts(common, parts),
  })
}

type History = ReturnType<typeof createMetricsHistory>

/** What `GET /checklist` has to know of other modules. */
function checklistParts({ baseUrl, database }: ModuleParts, config: PosternConfig | undefined) {
  return {
    baseUrl,
    demoNames: {
      provider: demoProviderName,
      keys: sampleKeyIds,
      subscribers: [sampleSubscriberId],
      subscribersOfSamples: sampleCustomerSubscribers,
      source: sampleSource,
      types: sampleTypes,
      samplesUntil: () => sampleEventsUntil(database),
    },
    hasModule: config !== undefined,
    declaresLists: (config?.listing?.lists ?? []).length > 0,
  }
}

/** What `GET /settings` and `GET /diagnostics` show. */
function diagnosticParts({ configuration, database }: ModuleParts, { config, settings }: AppParts) {
  const source = settings ?? { env: process.env, originOf: () => 'environment' }
  const diagnose = createDiagnostics({ configuration, config, env: source.env, database })
  return {
    settings: source,
    checks: { names: checkNames, run: (check: string) => diagnose(check as CheckName) },
  }
}

/** Declares the routes of all modules. */
export async function declareRoutes(app: App, { rooms, demoProvider }: Modules): Promise<void> {
  for (const room of rooms) await room.routes(app)
  findRoute(
    app,
    rooms.flatMap(({ finders = [] }) => finders),
  )
  if (!demoProvider) return
  await app.register(async (scope) => {
    refuseOtherHosts(scope)
    await demoProvider.routes(scope)
  })
}

/**
 * Declares the addresses of the samples. `begin` registers the sample subscribers. The sample events, some of which fail on purpose,
 * come with the first page that somebody opens: their log lines must not push the banner off the screen.
 */
export async function addSamples(
  app: App,
  common: ModuleParts,
  {
    emitting,
    receiving,
    destinations,
  }: Pick<Modules, 'emitting' | 'receiving'> & { destinations: Destinations },
) {
  const { keyring, clock, database, log } = common
  const customer = createSampleCustomer(emitting.subscribers)
  const subscriber = createSampleSubscriber({ ...common, subscribers: emitting.subscribers })
  await subscriber.routes(app)
  const alerts = createSampleAlerts(destinations)
  await customer.routes(app)
  await alerts.routes(app)
  const receiveOnce = async (): Promise<void> => {
    if ((await sampleEventsUntil(database)) === undefined)
      await receiveSampleEvents({ keyring, receiving, baseUrl: common.baseUrl(), now: clock.now() })
  }
  let received: Promise<void> | undefined
  app.addHook('onRequest', async ({ routeOptions: { url = '' } }) => {
    if (!/\/(?:login|dashboard)(?:\/|$)/.test(url)) return
    await (received ??= receiveOnce().catch((error: unknown) =>
      log.warn({ err: error }, 'the sample events could not be stored'),
    ))
  })
  return {
    async begin(isFirst: boolean): Promise<void> {
      const baseUrl = common.baseUrl()
      await subscriber.ensure(baseUrl)
      await (isFirst ? alerts.create(baseUrl) : alerts.follow(baseUrl))
      await (isFirst ? customer.create(baseUrl) : customer.follow(baseUrl))
    },
  }
}

/** What happened before the first start of demo mode: people who signed in, jobs, refused webhooks, and what the charts show. */
export async function insertSamplesOfTime(
  { configuration, database, clock, keyring }: ModuleParts,
  history: HistoryStore,
): Promise<void> {
  const now = clock.now()
  const signIns = await insertSamplePeople(database, now, configuration.sessionLifetime)
  // Another process has inserted them.
  if (signIns.length === 0) return
  const refusals = sampleRefusals(keyring, now)
  await database.transaction(async (tx) => {
    await insertSampleRefusals(tx, refusals)
    await insertSampleJobs(tx, now)
  })
  await insertSampleHistory(history, database, now, { signIns, refusals })
}
