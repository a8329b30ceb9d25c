import { setTimeout as sleep } from 'node:timers/promises'
import { describeAccountEvents } from './accounts/users/account-event-types.ts'
import { chosenAccountEvents } from './accounts/users/account-events.ts'
import { createAccounts, type Accounts } from './accounts/index.ts'
import { createAlerts } from './alerts/index.ts'
import { systemClock, type Clock } from './runtime/clock.ts'
import { ConfigurationError, type Configuration } from './config/environment.ts'
import type { PosternConfig } from './define-config.ts'
import type { SettingsSource } from './config/shown-settings.ts'
import { checkNames, createDiagnostics, type CheckName } from './diagnostics/index.ts'
import { createDemoIdentityProvider, demoProviderName } from './demo/identity-provider.ts'
import { insertSamples } from './demo/sample-data.ts'
import { insertSampleHistory } from './demo/sample-history.ts'
import { insertSamplePeople } from './demo/sample-people.ts'
import { createSampleCustomer, sampleCustomerSubscribers } from './demo/sample-customer.ts'
import {
  receiveSampleEvents,
  sampleEventsUntil,
  sampleReceiving,
  sampleSource,
  sampleTypes,
} from './demo/sample-events.ts'
import { createSampleSubscriber, sampleSubscriberId } from './demo/subscriber.ts'
import { createEmitting } from './emitting/index.ts'
import type { App } from './http/app.ts'
import { createApp, type Timeouts } from './http/create-app.ts'
import { postgresCallCounts } from './http/limits/call-counts.ts'
import type { BodyLimits } from './http/body/budget.ts'
import { refuseOtherHosts } from './http/access/loopback-only.ts'
import { findRoute } from './http/operations/find-route.ts'
import { oldestOfAll } from './http/operations/readiness.ts'
import { operations } from './http/operations/routes.ts'
import type { ModuleParts, ServiceModule } from './http/service-module.ts'
import { createListing } from './listing/index.ts'
import { createLogin, type Login } from './login/index.ts'
import { adminGroupsOf } from './login/resolve-login-config.ts'
import { createClients, createOAuth2 } from './oauth2/index.ts'
import { createForwardAuth } from './forward-auth/index.ts'
import { createEvents } from './events/index.ts'
import { longestTimeout } from './receiving/handlers/declared-handlers.ts'
import { createReceiving } from './receiving/index.ts'
import { openSpool, type OpenSpool } from './receiving/spool/open.ts'
import { openKeyring, openServiceDatabase, prepareDatabase } from './service-database.ts'
import { endOutdated, stop, type Running } from './shutdown.ts'
import { statisticsWorkers } from './runtime/statistics-worker.ts'
import type { Database } from './storage/database.ts'
import { SchemaWatch } from './storage/schema-watch.ts'
import type { Log } from './telemetry/log.ts'
import { createMetricsHistory } from './telemetry/history/index.ts'
import type { HistoryStore } from './telemetry/history/store.ts'
import { Metrics } from './telemetry/metrics.ts'

export interface ServiceParts {
  configuration: Configuration
  config?: PosternConfig | undefined
  log: Log
  clock?: Clock
  /** Which of the service's roles this process has. Default both. */
  roles?: { http: boolean; workers: boolean }
  /** Whether to bring the database to this version first. Default true. */
  migrate?: boolean
  /** The folder with the migrations of the product's own tables. They are applied after the service's. */
  migrationsFolder?: string | undefined
  /** Sample data and a sample subscriber, in demo mode. Default false. */
  samples?: boolean
  /** How long a sender may take for a request. */
  timeouts?: Timeouts
  /** What bodies that are being read may take. */
  bodies?: Partial<BodyLimits>
  /** Where the settings come from, for GET /settings. Default: the environment of the process. */
  settings?: SettingsSource
  /** The public address. If it is given, another server passes the requests on, and the service does not listen. */
  address?: () => string
}

export interface Service {
  readonly app: App
  readonly database: Database
  readonly baseUrl: string
  /**
   * Tells clients and load balancers that this process stops, while it works on as before: `/readyz` answers 503, and every
   * answer carries `Connection: close`. Resolves after SHUTDOWN_DELAY, at once without the role http, or when `skip` is aborted.
   */
  announceStop(skip?: AbortSignal): Promise<void>
  /** Stops accepting, lets running work end (at most `limit` milliseconds, default 10,000), closes the database. */
  stop(limit?: number): Promise<void>
}

/** Assembles the modules and starts them. The only function that knows all of them. */
export async function startService(parts: ServiceParts): Promise<Service> {
  const { configuration, log, clock = systemClock, roles = { http: true, workers: true } } = parts
  const { masterSecrets } = configuration
  if (!masterSecrets) throw new ConfigurationError(['POSTERN_SECRET is missing'])

  const handlerTimeout = longestTimeout(parts.config?.receiving?.handlers, configuration.handlerTimeout)
  const database = await openServiceDatabase({ configuration, log, handlerTimeout })
  const running: Running = { database, log, workers: [] }
  const schema = (running.schema = new SchemaWatch({
    database,
    clock,
    onNewer: (error) => endOutdated(running, error),
  }))
  try {
    await prepareDatabase(database, parts)
    await schema.start()
    const keyring = await openKeyring(database, masterSecrets, log)
    const metrics = new Metrics()
    metrics.collectProcess()
    const address = { url: configuration.baseUrl ?? localUrl(configuration.host, configuration.port) }
    const baseUrl = parts.address ?? (() => address.url)
    const common: ModuleParts = { configuration, database, keyring, clock, log, metrics, baseUrl }
    // A process that receives no webhooks acknowledges none.
    const spool =
      configuration.spool && roles.http
        ? await openSpool(configuration.spool, { log, bodyLimit: configuration.bodyLimit })
        : undefined
    if (spool) running.spool = spool
    // A project has events of its own.
    const showsEvents =
      parts.samples && configuration.demo && !parts.config?.receiving && !parts.config?.emitting
    const samplesOfEvents = showsEvents ? { receiving: sampleReceiving(keyring) } : {}
    const modules = createModules(common, { ...parts.config, ...samplesOfEvents }, spool)
    const history = createMetricsHistory({
      ...common,
      oldestDue: roles.workers ? () => oldestOfAll(running.workers, clock) : undefined,
    })
    running.workers = [
      history.worker,
      ...modules.rooms.flatMap((room) => room.workers),
      ...statisticsWorkers(database, clock, log),
    ]
    const app = (running.app = await createServiceApp(common, parts, modules))
    const { attention } = operations(app, {
      database,
      metrics,
      history,
      checklist: checklistParts(common, parts.config),
      attention: modules.rooms.flatMap(({ attention }) => attention ?? []),
      workers: running.workers,
      clock,
      configuration,
      spool: modules.receiving.spool,
      ...diagnosticParts(common, parts),
    })
    const alerts = createAlerts({ ...common, attention })
    running.workers = [...running.workers, ...alerts.workers]
    await declareRoutes(app, modules)
    await alerts.routes(app)
    const samples =
      parts.samples && configuration.demo && roles.http && (await addSamples(app, common, modules))
    await app.ready()

    const isFirst = samples && (await insertSamples(database, clock.now()))
    // A project has people and charts of its own.
    if (isFirst && showsEvents) await insertSamplesOfTime(common, history.store)
    if (roles.http && !parts.address) address.url = await listen(app, configuration)
    if (samples) await samples.begin(isFirst && showsEvents)
    if (running.newer) throw running.newer
    running.recorder = history.recorder
    history.recorder.start()
    if (roles.workers) for (const worker of running.workers) worker.start()
    return serviceOf(running, app, baseUrl(), roles.http ? configuration.shutdownDelay : undefined)
  } catch (error) {
    // The first error is the one to report.
    await stop(running, 1_000).catch((second: unknown) => log.warn({ err: second }, 'could not stop cleanly'))
    throw error
  }
}

type Modules = ReturnType<typeof createModules>

function createModules(common: ModuleParts, config: PosternConfig, spool: OpenSpool | undefined) {
  const { configuration, database } = common
  const accountEvents = config.login?.events ?? false
  const emitting = createEmitting({
    ...common,
    config: config.emitting,
    otherBuiltIn: describeAccountEvents(chosenAccountEvents(accountEvents)),
    // Emitting is created first, because accounts emit events.
    noteRefusal: (...about) => accounts.noteRefusal(...about),
  })
  const { emitWithin, emitBuiltIn } = emitting
  const clients = createClients(config.login ?? {}, common)
  const accounts: Accounts = createAccounts({
    ...common,
    events: accountEvents,
    adminGroups: adminGroupsOf(config.login ?? {}, configuration.providers),
    emit: emitBuiltIn,
    findApp: (id) => clients.find(id),
  })
  const demoProvider = configuration.demo ? createDemoIdentityProvider(common) : undefined
  const oauth2 = createOAuth2({
    ...common,
    clients,
    accounts,
    isProvider: (name) => login.isProvider(name),
    // The OpenID Provider is created first, because sign-ins issue its codes.
    endSessionUrl: (...about) => login.endSessionUrl(...about),
  })
  const login: Login = createLogin({
    ...common,
    config: config.login ?? {},
    accounts,
    builtIn: demoProvider?.provider,
    emit: emitWithin,
    apps: oauth2,
  })
  const forwardAuth = createForwardAuth({ ...common, config: config.forwardAuth ?? {}, accounts })
  const receiving = createReceiving({
    ...common,
    config: config.receiving,
    emitWithin,
    providerTokens: login.providerTokens,
    spool,
  })
  const listedAdmins = () => accounts.users.listedAdmins(database.reader)
  const { admins } = accounts
  const listing = createListing({ ...common, config: config.listing, listedAdmins, admins })
  const rooms: ServiceModule[] = [
    accounts,
    login,
    oauth2,
    forwardAuth,
    receiving,
    emitting,
    createEvents({ ...common, authenticate: accounts.authenticate }),
    listing,
  ]
  return { rooms, accounts, login, emitting, receiving, demoProvider }
}

function createServiceApp(
  { configuration, log, clock, database, baseUrl }: ModuleParts,
  { timeouts, bodies }: ServiceParts,
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

/** What `GET /checklist` has to know of other modules. */
function checklistParts({ baseUrl, database }: ModuleParts, config: PosternConfig | undefined) {
  return {
    baseUrl,
    demoNames: {
      provider: demoProviderName,
      subscribers: [sampleSubscriberId],
      subscribersOfSamples: sampleCustomerSubscribers,
      source: sampleSource,
      types: sampleTypes,
      samplesUntil: () => sampleEventsUntil(database),
    },
    declaresLists: (config?.listing?.lists ?? []).length > 0,
  }
}

/** What `GET /settings` and `GET /diagnostics` show. */
function diagnosticParts({ configuration, database }: ModuleParts, { config, settings }: ServiceParts) {
  const source = settings ?? { env: process.env, originOf: () => 'environment' }
  const diagnose = createDiagnostics({ configuration, config, env: source.env, database })
  return {
    settings: source,
    checks: { names: checkNames, run: (check: string) => diagnose(check as CheckName) },
  }
}

async function declareRoutes(app: App, { rooms, demoProvider }: Modules): Promise<void> {
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

/** Declares the sample subscribers. `begin` registers them, and receives the sample events if the first start shows them. */
async function addSamples(app: App, common: ModuleParts, { emitting, receiving }: Modules) {
  const { keyring, clock } = common
  const customer = createSampleCustomer(emitting.subscribers)
  const subscriber = createSampleSubscriber({ ...common, subscribers: emitting.subscribers })
  await subscriber.routes(app)
  await customer.routes(app)
  return {
    async begin(withEvents: boolean | undefined): Promise<void> {
      const baseUrl = common.baseUrl()
      await subscriber.ensure(baseUrl)
      if (!withEvents) return customer.follow(baseUrl)
      await customer.create(baseUrl)
      await receiveSampleEvents({ keyring, receiving, baseUrl, now: clock.now() })
    },
  }
}

/** What happened before the first start of demo mode: people who signed in, and what the charts show. */
async function insertSamplesOfTime(
  { configuration, database, clock }: Common,
  history: HistoryStore,
): Promise<void> {
  const now = clock.now()
  const signIns = await insertSamplePeople(database, now, configuration.sessionLifetime)
  await insertSampleHistory(history, database, now, signIns)
}

/** Starts the server. Returns the public address of the service. */
async function listen(app: App, { host, port, baseUrl }: Configuration): Promise<string> {
  const listening = await app.listen({ host, port })
  return baseUrl ?? localUrl(host, new URL(listening).port || '80')
}

/** @param shutdownDelay milliseconds between the announcement of a stop and the stop; undefined without the role http */
function serviceOf(running: Running, app: App, baseUrl: string, shutdownDelay: number | undefined): Service {
  return {
    app,
    database: running.database,
    baseUrl,
    async announceStop(skip) {
      if (shutdownDelay === undefined) return
      app.closing.begin()
      await sleep(shutdownDelay, undefined, { signal: skip }).catch((error: unknown) => {
        if (!skip?.aborted) throw error
      })
    },
    stop: once((limit = 10_000) => stop(running, limit)),
  }
}

function once<A extends unknown[], T>(call: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  let result: Promise<T> | undefined
  return (...args) => (result ??= call(...args))
}

function localUrl(host: string, port: number | string): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
