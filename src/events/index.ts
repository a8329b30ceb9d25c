import type { Clock } from '../runtime/clock.ts'
import type { Configuration } from '../config/environment.ts'
import type { ServiceModule } from '../http/service-module.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { openEventLog } from './log.ts'
import { openRetentionStore, RetentionWorker } from './retention/worker.ts'
import { eventRoutes } from './routes.ts'

export interface EventsParts {
  configuration: Configuration
  database: Database
  clock: Clock
  log: Log
  metrics: Metrics
}

/** The event log, to which receiving and emitting append and which `GET /events` reads, and its retention. */
export function createEvents({ configuration, database, clock, log, metrics }: EventsParts): ServiceModule {
  const events = openEventLog(database)
  const retention = new RetentionWorker({
    store: openRetentionStore(database),
    clock,
    log,
    metrics,
    periods: {
      payloads: configuration.payloadRetention,
      markers: configuration.markerRetention,
      rejected: configuration.rejectedRetention,
    },
  })
  return {
    workers: [retention],
    routes: (app) => eventRoutes(app, { database, log: events }),
  }
}
