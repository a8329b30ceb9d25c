import type { Clock, Random } from '../clock.ts'
import type { Configuration } from '../config/environment.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Room } from '../http/room.ts'
import { createOutboundAgent } from '../network/outbound-agent.ts'
import { Cursors } from '../paging/cursor.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createAttempt } from './attempt.ts'
import { DeliveryLog } from './delivery-log.ts'
import { Destinations } from './destinations.ts'
import { Dispatcher } from './dispatcher.ts'
import { createEmitter, type EmitWithin } from './emitter.ts'
import { Jobs } from './jobs.ts'
import { deliveryMetrics } from './metrics.ts'
import { Replay } from './replay.ts'
import { ReplayWorker } from './replay-worker.ts'
import { emittingRoutes } from './routes.ts'
import { SubscriberSecrets } from './secrets.ts'
import { openQueue } from './store.ts'
import { Subscribers } from './subscribers.ts'
import { TestEvents } from './test-events.ts'

export type { EmitWithin } from './emitter.ts'
export type { Subscribers } from './subscribers.ts'

export interface EmittingParts {
  configuration: Configuration
  database: Database
  keyring: Keyring
  clock: Clock
  log: Log
  metrics: Metrics
  random?: Random
}

export interface Emitting extends Room {
  /** For the handlers of received events: emits in their transaction. */
  emitWithin: EmitWithin
  subscribers: Subscribers
}

/** Outgoing webhooks: signed, queued with the event, retried, logged. */
export function createEmitting(parts: EmittingParts): Emitting {
  const { configuration, database, keyring, clock, log, metrics, random = Math.random } = parts
  const { allowPrivateNetwork, emitRetrySchedule: schedule, emitTimeout: timeout } = configuration
  const cursors = new Cursors(keyring)
  const secrets = new SubscriberSecrets(keyring)
  const subscribers = new Subscribers({ database, keyring, secrets, cursors, clock, allowPrivateNetwork })
  const emitter = createEmitter({ engine: database.engine, clock, firstDelay: schedule[0] ?? 0 })
  const agent = createOutboundAgent({ allowPrivateNetwork })
  const dispatcher = new Dispatcher({
    database,
    queue: openQueue(database),
    destinations: new Destinations({ database, keyring, secrets, defaults: { timeout, schedule } }),
    attempt: createAttempt({ agent, clock }),
    disable: (id, url, reason) => subscribers.disable(id, url, reason),
    metrics: deliveryMetrics(metrics),
    clock,
    random,
    log,
    close: () => agent.destroy(),
  })
  return {
    emitWithin: emitter.within,
    subscribers,
    workers: [dispatcher, new ReplayWorker({ database, clock, log })],
    routes: (app) =>
      emittingRoutes(app, {
        emitter,
        database,
        keyring,
        subscribers,
        testEvents: new TestEvents(database, emitter, subscribers),
        publicKeysOf: (id) => secrets.publicKeys(database.reader, id, clock.now()),
        deliveryLog: new DeliveryLog(database, cursors),
        replay: new Replay(database, clock),
        jobs: new Jobs(database, clock),
      }),
  }
}
