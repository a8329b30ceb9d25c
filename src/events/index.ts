import type { Authenticate } from '../http/access/principal.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { BodySearches } from './body-search/body-search.ts'
import { bodySearchRoute } from './body-search/routes.ts'
import { eventFinder } from './finder.ts'
import { openEventLog } from './log.ts'
import { LiveHub } from './live/hub.ts'
import { liveRoute } from './live/routes.ts'
import { openRetentionStore, RetentionWorker } from './retention/worker.ts'
import { eventRoutes } from './routes.ts'

export interface EventsParts extends ModuleParts {
  /** Checks the credentials of live connections again. */
  authenticate: Authenticate
}

/** The event log, to which receiving and emitting append and which `GET /events` reads, and its retention. */
export function createEvents(parts: EventsParts): ServiceModule {
  const { configuration, database, clock, log, metrics, authenticate } = parts
  const events = openEventLog(database)
  const searches = new BodySearches({ database, log: events })
  const hub = new LiveHub({ database, log: events, clock, logger: log })
  metrics.gauge('postern_live_viewers', 'Open live connections of this process', [], (gauge) =>
    gauge.set(hub.viewers),
  )
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
    finders: [eventFinder(database, events)],
    routes(app) {
      eventRoutes(app, { database, log: events })
      bodySearchRoute(app, searches)
      app.addHook('onClose', () => searches.close())
      liveRoute(app, { hub, authenticate })
    },
  }
}
