import { once } from 'node:events'
import type { App } from '../http/app.ts'
import type { ServiceModule, SpoolStatus } from '../http/service-module.ts'
import type { Worker } from '../runtime/worker.ts'
import { Activity } from './activity/activity.ts'
import { endingSecrets, failingHandlers } from './attention.ts'
import { reprocessWorker } from './failed/reprocess.ts'
import { FailureGroups } from './failure-groups/tally.ts'
import { PausedHandlers } from './handlers/paused.ts'
import { RejectedLog } from './rejections/log.ts'
import { HandlerWorker } from './worker/worker.ts'
import type { ReceivingParts } from './parts.ts'
import { planHandling } from './plan-handling.ts'
import { declareRoutes, type Made } from './routes.ts'
import { attemptParts, storeEvents } from './store-events.ts'
import { contains, type Finder, type Found } from '../http/finder.ts'

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
  const activity = new Activity({ database, clock, log })
  const paused = new PausedHandlers({ database, clock })
  const storing = storeEvents(parts, activity)
  const { store, acceptor, fallback, failure } = storing
  const rejected = new RejectedLog({ database, clock, log, period: configuration.rejectedRetention })
  const attempts = attemptParts(parts, store)
  const made = { ...handling, ...storing, attempts, rejected, activity, paused }
  const worker = handlerWorker(parts, made)
  let app: App | undefined
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
    isRefusing: () => failure.isRecent,
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
      declareRoutes(given, parts, made)
    },
  }
}

/** The worker that runs the handlers of received events. */
function handlerWorker(parts: ReceivingParts, made: Made): HandlerWorker {
  const { activity, attempts, store, planOf, paused } = made
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
      await made.close()
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

/** Finds sources and handlers by their names. */
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
