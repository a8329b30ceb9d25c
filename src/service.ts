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
import { secretsFile } from './config/generated-secrets.ts'
import { Keyring } from './crypto/keyring.ts'
import { migrate, pendingMigrations } from './storage/migrate.ts'
import { migrations } from './storage/migrations/index.ts'
import { openDatabase } from './storage/open.ts'
import { applyProductMigrations, readProductMigrations } from './storage/product-migrations.ts'
import { checkSealedValues } from './storage/reseal.ts'
import { describeExposed, exposedFiles } from './storage/sqlite/files.ts'

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
    ...modules.all.flatMap((module) => module.workers),
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

/** Milliseconds that PostgreSQL may take for a statement of the service; then the connection is given up. */
const databaseAnswersWithin = 10_000

/** Opens the database of the settings, and says in the log what happens to it in the background. */
async function openServiceDatabase({
  configuration,
  log,
  handlerTimeout,
}: {
  configuration: Configuration
  log: Log
  /** Milliseconds that a handler may take. */
  handlerTimeout: number
}): Promise<Database> {
  const database = await openDatabase(configuration, {
    connections: configuration.databaseConnections,
    onError: (error) => log.warn({ err: error }, 'the database failed in the background'),
    onNoRoom: (notice) => log.error(notice),
    answerWithin: databaseAnswersWithin,
    onPrimary: true,
    replicaUrl: configuration.databaseReplicaUrl,
    onReplica: (usable, reason) => {
      if (usable) log.info('lists are read from the standby of DATABASE_REPLICA_URL')
      else
        log.warn(
          { err: reason },
          'the standby of DATABASE_REPLICA_URL is unreachable or out of date: lists are read from the primary',
        )
    },
    handlerAnswerWithin: handlerTimeout,
  })
  database.onSetBack(() =>
    log.warn(
      'the database was restarted, failed over or restored: IDs skip ahead, and cached data is read again',
    ),
  )
  return database
}

/** Checks that this process may use the database, and applies the migrations. */
async function prepareDatabase(
  database: Database,
  parts: Pick<ServiceParts, 'configuration' | 'log' | 'migrate' | 'migrationsFolder'>,
): Promise<void> {
  const { configuration, log } = parts
  if (database.engine === 'sqlite') {
    database.own()
    const exposed = exposedFiles(database.file, [secretsFile(configuration.databaseUrl)])
    if (exposed.length > 0) log.warn({ exposed }, describeExposed(exposed))
  } else await database.checkPooling()
  if (parts.migrate === false) {
    // Throws if this process cannot work with the database's schema.
    await pendingMigrations(database)
    return
  }
  const options = {
    onWait: () => log.warn('another process is migrating the database: waiting for it to finish'),
  }
  const applied = await migrate(database, migrations, options)
  if (parts.migrationsFolder !== undefined) {
    const own = readProductMigrations(parts.migrationsFolder, database.engine)
    applied.push(...(await applyProductMigrations(database, own, options)))
  }
  if (applied.length > 0) log.info({ migrations: applied }, 'database migrated')
}

/** @throws ConfigurationError when values are sealed with a key that is not among the secrets */
async function openKeyring(
  database: Database,
  masterSecrets: NonNullable<Configuration['masterSecrets']>,
  log: Log,
): Promise<Keyring> {
  const keyring = new Keyring(masterSecrets)
  const sealed = await checkSealedValues(database, keyring)
  if (sealed.unknown !== undefined) throw new ConfigurationError([sealed.unknown])
  if (sealed.older !== undefined) log.warn(sealed.older)
  return keyring
}
