import { setTimeout as sleep } from 'node:timers/promises'
import { createAlerts } from './alerts/index.ts'
import { type Clock, systemClock } from './runtime/clock.ts'
import { type Configuration, ConfigurationError } from './config/environment.ts'
import { Samples } from './demo/samples.ts'
import type { App } from './http/app.ts'
import { oldestOfAll } from './http/operations/readiness.ts'
import type { ModuleParts } from './http/service-module.ts'
import { longestTimeout } from './receiving/handlers/declared-handlers.ts'
import { openSpool } from './receiving/spool/file-spool.ts'
import { openKeyring, openServiceDatabase, prepareDatabase } from './service-database.ts'
import { createModules } from './create-modules.ts'
import { type AppParts, createServiceApp, declareOperations, declareRoutes } from './service-app.ts'
import { endOutdated, type Running, stop } from './shutdown.ts'
import type { Database } from './storage/database.ts'
import { SchemaWatch } from './storage/schema-watch.ts'
import type { Log } from './telemetry/log.ts'
import { Recorder } from './telemetry/history/recorder.ts'
import { HistoryStore } from './telemetry/history/store.ts'
import { Metrics } from './telemetry/metrics.ts'
import { type Worker, periodicWorker } from './runtime/worker.ts'
import { analyzeChanged } from './storage/postgres/statistics.ts'

export interface ServiceParts extends AppParts {
  configuration: Configuration
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

/** Assembles the modules and starts them. */
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
    const { app, recorder, beginSamples } = await assemble(running, common, { ...parts, roles })
    if (roles.http && !parts.address) address.url = await listen(app, configuration)
    await beginSamples?.()
    if (running.newer) throw running.newer
    running.recorder = recorder
    recorder.start()
    if (roles.workers) for (const worker of running.workers) worker.start()
    return serviceOf(running, app, baseUrl(), roles.http ? configuration.shutdownDelay : undefined)
  } catch (error) {
    // The first error is the one to report.
    await stop(running, 1_000).catch((second: unknown) => log.warn({ err: second }, 'could not stop cleanly'))
    throw error
  }
}

/** Creates the modules and the application with their routes, ready to serve. `beginSamples` is for a server that listens. */
async function assemble(
  running: Running,
  common: ModuleParts,
  parts: ServiceParts & Required<Pick<ServiceParts, 'roles'>>,
) {
  const { configuration, database, keyring, clock, log } = common
  const { roles, config } = parts
  // A process that receives no webhooks acknowledges none.
  const choice = { settings: configuration.spool, custom: config?.receiving?.spool }
  const spool = roles.http ? await openSpool(choice, { keyring, clock, log }) : undefined
  if (spool) running.spool = spool
  // A project has data of its own.
  const showsSamples = parts.samples === true && configuration.demo && config === undefined
  const samples = showsSamples ? new Samples(common) : undefined
  const modules = createModules(common, samples ? { receiving: samples.receiving() } : { ...config }, spool)
  const history = new HistoryStore(database)
  const recorder = new Recorder({
    ...common,
    store: history,
    oldestDue: roles.workers ? () => oldestOfAll(running.workers, clock) : undefined,
  })
  running.workers = [
    recorder.rollUpWorker(),
    ...modules.rooms.flatMap((room) => room.workers),
    ...statisticsWorkers(database, clock, log),
  ]
  const app = (running.app = await createServiceApp(common, parts, modules))
  const { attention } = declareOperations(app, common, parts, {
    modules,
    history,
    recorder,
    workers: running.workers,
  })
  const alerts = createAlerts({ ...common, attention })
  running.workers = [...running.workers, ...alerts.workers]
  await declareRoutes(app, modules)
  await alerts.routes(app)
  if (samples && roles.http) await samples.routes(app)
  await app.ready()
  return { app, recorder, beginSamples: roles.http ? () => samples?.begin() : undefined }
}

/** Starts the server. Returns the public address of the service. @throws ConfigurationError if the host has no address */
async function listen(app: App, { host, port, baseUrl }: Configuration): Promise<string> {
  const listening = await app.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
    // Else it would be taken for an error of the database.
    if (error.syscall !== 'getaddrinfo') throw error
    throw new ConfigurationError([`HOST cannot be resolved to an address of this machine: ${error.message}`])
  })
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
      app.closing.start()
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

/** Milliseconds between two checks. */
const interval = 2_000

/** Keeps PostgreSQL's statistics of our tables up to date between runs of autovacuum. SQLite does not need them. */
function statisticsWorkers(database: Database, clock: Clock, log: Log): Worker[] {
  if (database.engine === 'sqlite') return []
  return [
    periodicWorker('statistics', clock, interval, async () => {
      try {
        const tables = await database.maintenance(() => analyzeChanged(database.pool))
        if (tables.length > 0) log.debug({ tables }, 'tables have changed, and were analyzed')
      } catch (error) {
        // Other workers report that the database is unavailable; the next round tries again.
        log.debug({ err: error, worker: 'statistics' }, 'could not check whether tables have changed')
      }
    }),
  ]
}
