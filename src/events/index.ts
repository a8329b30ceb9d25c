import type { Authenticate } from '../http/access/principal.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { bodySearchRoute } from './body-search.ts'
import { type EventLog, openEventLog } from './log.ts'
import { LiveHub } from './live/hub.ts'
import { liveRoute } from './live/routes.ts'
import { openRetentionStore, RetentionWorker } from './retention/worker.ts'
import { eventRoutes } from './routes.ts'
import { type Finder, type Found, mostFound } from '../http/finder.ts'
import type { Database } from '../storage/database.ts'
import { searchEvents } from './search.ts'
import type { EventRow } from './store.ts'

/** The event log, to which receiving and emitting append and which `GET /events` reads, and its retention. */
export function createEvents(
  parts: ModuleParts & {
    /** Checks the credentials of live connections again. */
    authenticate: Authenticate
  },
): ServiceModule {
  const { configuration, database, clock, log, metrics, authenticate } = parts
  const events = openEventLog(database)
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
      eventRoutes(app, database, events)
      bodySearchRoute(app, database, events)
      liveRoute(app, hub, authenticate)
    },
  }
}

/** Finds events by their number and id, and order keys. */
function eventFinder(database: Database, log: EventLog): Finder {
  const newest = { cursor: Number.MAX_SAFE_INTEGER, descending: true, limit: mostFound }
  return {
    scope: 'events:read',
    async find(text) {
      const horizon = await log.horizon()
      const { rows } = await searchEvents(database, { filter: { eventId: text }, ...newest, horizon })
      const byNumber = /^[1-9]\d{0,15}$/.test(text) ? await log.some([Number(text)]) : []
      const ofKey = await database.reader
        .selectFrom('event_queue')
        .select('event')
        .where('order_key', '=', text)
        .limit(1)
        .executeTakeFirst()
      const found = [...byNumber, ...rows].map(describe)
      if (ofKey)
        found.push({ kind: 'order-key', id: text, title: text, detail: 'events with this order key' })
      return found
    },
  }
}

function describe({ id, event_id: eventId, type, source, status }: EventRow): Found {
  const detail = `${type} · ${source ?? 'emitted'} · ${status}`
  return { kind: 'event', id: String(id), title: eventId, detail }
}
