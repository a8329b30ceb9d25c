import { describeAccountEvents } from './accounts/account-event-types.ts'
import { chosenAccountEvents } from './accounts/account-events.ts'
import { createAccounts } from './accounts/index.ts'
import { systemClock, type Clock } from './clock.ts'
import { ConfigurationError, type Configuration } from './config/environment.ts'
import { Keyring } from './crypto/keyring.ts'
import type { PosternConfig } from './define-config.ts'
import { createDemoIdentityProvider } from './demo/identity-provider.ts'
import { insertSamples } from './demo/sample-data.ts'
import { createSampleSubscriber } from './demo/subscriber.ts'
import { createEmitting } from './emitting/index.ts'
import { createApp, type App, type Timeouts } from './http/app.ts'
import type { BodyLimits } from './http/body-budget.ts'
import { refuseOtherHosts } from './http/loopback-only.ts'
import { operations } from './http/operations.ts'
import type { Room, Worker } from './http/room.ts'
import { createListing } from './listing/index.ts'
import { createLogin } from './login/index.ts'
import { createEvents } from './events/index.ts'
import { createReceiving } from './receiving/index.ts'
import { statisticsWorkers } from './statistics-worker.ts'
import type { Database } from './storage/database.ts'
import { migrate } from './storage/migrate.ts'
import { openDatabase } from './storage/open.ts'
import type { Log } from './telemetry/log.ts'
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
  /** Sample data and a sample subscriber, in demo mode. Default false. */
  samples?: boolean
  /** How long a sender may take for a request. */
  timeouts?: Timeouts
  /** What bodies that are being read may take. */
  bodies?: Partial<BodyLimits>
}

export interface Service {
  readonly app: App
  readonly database: Database
  readonly baseUrl: string
  /** Stops accepting, lets running work end (at most `limit` milliseconds, default 10,000), closes the database. */
  stop(limit?: number): Promise<void>
}

/** Puts the rooms together and starts them. The only place that knows all of them. */
export async function startService(parts: ServiceParts): Promise<Service> {
  const {
    configuration,
    config = {},
    log,
    clock = systemClock,
    roles = { http: true, workers: true },
  } = parts
  const samples = parts.samples === true && configuration.demo && roles.http
  const { masterSecrets } = configuration
  if (!masterSecrets) throw new ConfigurationError(['POSTERN_SECRET is missing'])

  const database = await openDatabase(configuration.databaseUrl, {
    onError: (error) => log.warn({ err: error }, 'the database failed in the background'),
  })
  const running: Running = { database, log, workers: [] }
  try {
    if (database.engine === 'sqlite') database.own()
    if (parts.migrate !== false) {
      const applied = await migrate(database)
      if (applied.length > 0) log.info({ migrations: applied }, 'database migrated')
    }
    const keyring = new Keyring(masterSecrets)
    const metrics = new Metrics()
    metrics.collectProcess()
    let listening = configuration.baseUrl ?? `http://${hostInUrl(configuration.host)}:${configuration.port}`
    const baseUrl = (): string => listening

    const common = { configuration, database, keyring, clock, log, metrics, baseUrl }
    const accountEvents = config.login?.events ?? false
    const emitting = createEmitting({
      ...common,
      config: config.emitting,
      otherBuiltIn: describeAccountEvents(chosenAccountEvents(accountEvents)),
    })
    const { emitWithin, emitBuiltIn } = emitting
    const accounts = createAccounts({
      ...common,
      events: accountEvents,
      emit: emitBuiltIn,
      apps: config.login?.clients ?? [],
    })
    const demoProvider = configuration.demo ? createDemoIdentityProvider(common) : undefined
    const login = createLogin({
      ...common,
      config: config.login ?? {},
      accounts,
      builtIn: demoProvider?.provider,
      emit: emitWithin,
    })
    const receiving = createReceiving({
      ...common,
      config: config.receiving,
      emitWithin,
      providerTokens: login.providerTokens,
    })
    const listedAdmins = () => accounts.users.listedAdmins(database.reader)
    const listing = createListing({ ...common, config: config.listing, listedAdmins })
    const rooms: Room[] = [accounts, login, receiving, emitting, createEvents(common), listing]
    const workers = (running.workers = [
      ...rooms.flatMap((room) => room.workers),
      ...statisticsWorkers(database, clock, log),
    ])

    const app = (running.app = await createApp({
      configuration,
      log,
      clock,
      authenticate: accounts.authenticate,
      authenticatePortal: emitting.authenticatePortal,
      noteForeignCall: accounts.noteForeignCall,
      baseUrl,
      timeouts: parts.timeouts,
      bodies: parts.bodies,
    }))
    operations(app, { database, metrics, workers, clock, configuration })
    for (const room of rooms) await room.routes(app)
    if (demoProvider) {
      await app.register(async (scope) => {
        refuseOtherHosts(scope)
        await demoProvider.routes(scope)
      })
    }
    const sampleSubscriber = samples
      ? createSampleSubscriber({ ...common, subscribers: emitting.subscribers })
      : undefined
    await sampleSubscriber?.routes(app)
    await app.ready()

    if (samples) await insertSamples(database, clock.now())
    if (roles.http) {
      const address = await app.listen({ host: configuration.host, port: configuration.port })
      if (!configuration.baseUrl)
        listening = `http://${hostInUrl(configuration.host)}:${new URL(address).port || '80'}`
    }
    await sampleSubscriber?.ensure(baseUrl())
    if (roles.workers) for (const worker of workers) worker.start()

    return {
      app,
      database,
      baseUrl: listening,
      stop: once((limit = 10_000) => stop(running, limit)),
    }
  } catch (error) {
    // The first error is the one to tell.
    await stop(running, 1_000).catch((second: unknown) => log.warn({ err: second }, 'could not stop cleanly'))
    throw error
  }
}

/** What there is to stop; of a start that failed, as much as had been made. */
interface Running {
  readonly database: Database
  readonly log: Log
  workers: readonly Worker[]
  app?: App
}

/** Time in milliseconds before the limit that is kept for what follows the last request: its commit. */
const forTheLastCommit = 500

async function stop({ app, database, workers, log }: Running, limit: number): Promise<void> {
  const deadline = AbortSignal.timeout(limit)
  // A client that trickles its request, or does not read its answer, would hold the stop up for as long as it likes.
  const cut = setTimeout(() => app?.server.closeAllConnections(), Math.max(0, limit - forTheLastCommit))
  const results = await Promise.allSettled([app?.close(), ...workers.map((worker) => worker.stop(deadline))])
  clearTimeout(cut)
  for (const result of results) {
    if (result.status === 'rejected')
      log.error({ err: result.reason as unknown }, 'a part did not stop cleanly')
  }
  await database.close()
}

function once<A extends unknown[], T>(call: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  let result: Promise<T> | undefined
  return (...args) => (result ??= call(...args))
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
