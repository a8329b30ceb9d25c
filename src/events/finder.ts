import type { Finder, Found } from '../http/finder.ts'
import { mostFound } from '../http/finder.ts'
import type { Database } from '../storage/database.ts'
import type { EventLog } from './log.ts'
import { searchEvents } from './search.ts'
import type { EventRow } from './store.ts'

/** Finds events by their number and id, and order keys. */
export function eventFinder(database: Database, log: EventLog): Finder {
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
