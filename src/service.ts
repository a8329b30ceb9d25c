import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { describeAccountEvents } from './accounts/account-event-types.ts'
import { chosenAccountEvents } from './accounts/account-events.ts'
import { createAccounts, type Accounts } from './accounts/index.ts'
import { systemClock, type Clock } from './runtime/clock.ts'
import { ConfigurationError, type Configuration } from './config/environment.ts'
import { secretsFile } from './config/generated-secrets.ts'
import { Keyring } from './crypto/keyring.ts'
import type { PosternConfig } from './define-config.ts'
import { createDemoIdentityProvider } from './demo/identity-provider.ts'
import { insertSamples } from './demo/sample-data.ts'
import { createSampleSubscriber } from './demo/subscriber.ts'
import { createEmitting } from './emitting/index.ts'
import { createApp, type App, type Timeouts } from './http/app.ts'
import { toProblem } from './http/problem-details.ts'
import { postgresCallCounts } from './http/call-counts.ts'
import type { BodyLimits } from './http/body-budget.ts'
import { refuseOtherHosts } from './http/loopback-only.ts'
import { operations } from './http/operations.ts'
import type { Room } from './http/room.ts'
import type { Worker } from './runtime/worker.ts'
import { createListing } from './listing/index.ts'
import { createLogin } from './login/index.ts'
import { createEvents } from './events/index.ts'
import { longestTimeout } from './receiving/declared-handlers.ts'
import { createReceiving } from './receiving/index.ts'
import { openSpool, type OpenSpool } from './receiving/spool/open.ts'
import { statisticsWorkers } from './runtime/statistics-worker.ts'
import type { Database } from './storage/database.ts'
import { migrate, type NewerDatabase } from './storage/migrate.ts'
import { openDatabase } from './storage/open.ts'
import { SchemaWatch } from './storage/schema-watch.ts'
import { checkSealedValues } from './storage/sealed-check.ts'
import { describeExposed, exposedFiles } from './storage/sqlite/file-modes.ts'
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
  /**
   * Tells clients and load balancers that this process stops, while it works on as before: `/readyz` answers 503, and every
   * answer carries `Connection: close`. Resolves after SHUTDOWN_DELAY, at once without the role http, or when `skip` is aborted.
   */
  announceStop(skip?: AbortSignal): Promise<void>
  /** Stops accepting, lets running work end (at most `limit` milliseconds, default 10,000), closes the database. */
  stop(limit?: number): Promise<void>
}

/** Milliseconds that PostgreSQL may take for a statement of the service; then the connection is given up. */
const databaseAnswersWithin = 10_000

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

  const database = await openDatabase(configuration, {
    connections: configuration.databaseConnections,
    onError: (error) => log.warn({ err: error }, 'the database failed in the background'),
    onNoRoom: (notice) => log.error(notice),
    answerWithin: databaseAnswersWithin,
    onPrimary: true,
    replicaUrl: configuration.databaseReplicaUrl,
    onReplica: (usable, reason) => {
      if (usable) log.info('lists are read on the standby of DATABASE_REPLICA_URL')
      else
        log.warn(
          { err: reason },
          'the standby of DATABASE_REPLICA_URL is out of reach or does not follow: lists are read on the primary',
        )
    },
    handlerAnswerWithin: longestTimeout(config.receiving?.handlers, configuration.handlerTimeout),
  })
  database.onSetBack(() =>
    log.warn(
      'the database was restarted, moved or taken back: numbers go on higher, and what was in memory is read again',
    ),
  )
  const running: Running = { database, log, workers: [] }
  const schema = (running.schema = new SchemaWatch({
    database,
    clock,
    onNewer: (error) => endOutdated(running, error),
  }))
  try {
    if (database.engine === 'sqlite') {
      database.own()
      const exposed = exposedFiles(database.file, [secretsFile(configuration.databaseUrl)])
      if (exposed.length > 0) log.warn({ exposed }, describeExposed(exposed))
    } else await database.checkPooling()
    if (parts.migrate !== false) {
      const applied = await migrate(database)
      if (applied.length > 0) log.info({ migrations: applied }, 'database migrated')
    }
    await schema.start()
    const keyring = new Keyring(masterSecrets)
    const sealed = await checkSealedValues(database, keyring)
    if (sealed.unknown !== undefined) throw new ConfigurationError([sealed.unknown])
    if (sealed.older !== undefined) log.warn(sealed.older)
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
      // Accounts emit, so emitting is there before them.
      noteRefusal: (...about) => accounts.noteRefusal(...about),
    })
    const { emitWithin, emitBuiltIn } = emitting
    const accounts: Accounts = createAccounts({
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
    // Who receives no webhooks acknowledges none.
    if (configuration.spool && roles.http) {
      const { bodyLimit } = configuration
      running.spool = await openSpool(configuration.spool, { log, bodyLimit })
    }
    const receiving = createReceiving({
      ...common,
      config: config.receiving,
      emitWithin,
      providerTokens: login.providerTokens,
      spool: running.spool,
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
      noteForbidden: accounts.noteForbidden,
      baseUrl,
      timeouts: parts.timeouts,
      bodies: parts.bodies,
      countCalls: database.engine === 'postgres' ? postgresCallCounts(database) : undefined,
    }))
    operations(app, { database, metrics, workers, clock, configuration, spool: receiving.spool })
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
    if (running.newer) throw running.newer
    if (roles.workers) for (const worker of workers) worker.start()

    return {
      app,
      database,
      baseUrl: listening,
      async announceStop(skip) {
        if (!roles.http) return
        app.closing.begin()
        await sleep(configuration.shutdownDelay, undefined, { signal: skip }).catch((error: unknown) => {
          if (!skip?.aborted) throw error
        })
      },
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
  schema?: SchemaWatch
  /** Why the process has ended its work. */
  newer?: NewerDatabase
  readonly database: Database
  readonly log: Log
  workers: readonly Worker[]
  app?: App
  spool?: OpenSpool
}

/**
 * Milliseconds before the limit at which work is cut off: handlers and deliveries are aborted, connections closed. The rest
 * is for what follows: the last commits, claims that are given back, the end of the sessions.
 */
const cutBefore = 2_000
/** Milliseconds before the limit at which a part that still hangs is left behind. */
const leftBefore = 500

async function stop(running: Running, limit: number): Promise<void> {
  const { app, database, workers, log, spool } = running
  running.schema?.stop()
  // What has come by now is read first: a connection with a request in the kernel's buffer would look idle.
  await nextTurn()
  const work = limit - Math.min(cutBefore, limit / 2)
  // A limit that is shorter than what follows the cut is one for the work alone.
  const until = performance.now() + Math.max(limit, work + cutBefore)
  const deadline = AbortSignal.timeout(work)
  // A client that sends its request slowly, or does not read its answer, would hold the stop up.
  const cut = setTimeout(() => app?.server.closeAllConnections(), Math.max(0, work - leftBefore))
  const parts = [app?.close(), ...workers.map((worker) => worker.stop(deadline))].map(async (part) =>
    part?.catch((error: unknown) => log.error({ err: error }, 'a part did not stop cleanly')),
  )
  if (!(await within(until - leftBefore, Promise.all(parts))))
    log.error('a part did not stop in time, and was left behind')
  clearTimeout(cut)
  // What lies in it stays there for the next start.
  if (spool && !(await within(until, spool.spool.close()))) log.warn('the spool did not close in time')
  if (!(await within(until, database.close())))
    log.warn('the database did not confirm in time that its sessions ended')
}

/**
 * A newer version has changed the database so that this one would damage it. Nothing is written any more, what is under way is
 * rolled back, and all calls are refused; what this process had claimed is taken over as after its end. It stays, so that it can
 * tell why.
 */
function endOutdated(running: Running, error: NewerDatabase): void {
  const { app, database, workers, log } = running
  running.newer = error
  // Before a server listens, the start fails.
  if (app) log.error({ err: error }, 'this process has ended its work and answers calls with 503')
  app?.refusal.begin(toProblem(error))
  if (database.engine === 'postgres') database.abandon(error)
  running.workers = []
  const now = AbortSignal.abort(error)
  for (const worker of workers)
    worker.stop(now).catch((failure: unknown) => {
      log.warn({ err: failure, worker: worker.name }, 'a worker did not end cleanly')
    })
}

/** Whether a promise resolves before a time of `performance.now()`. Rejects with what it rejects with before that. */
async function within(until: number, promise: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController()
  const over = sleep(Math.max(0, until - performance.now()), false, { signal: timer.signal })
  try {
    return await Promise.race([promise.then(() => true), over])
  } finally {
    timer.abort()
    await over.catch(() => false)
  }
}

function once<A extends unknown[], T>(call: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  let result: Promise<T> | undefined
  return (...args) => (result ??= call(...args))
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
