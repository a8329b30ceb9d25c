import type { SqliteConnection, SqlValue } from '../../storage/sqlite/connection.ts'
import { type EventKey, type IncomingEvent, advanceOne, orderKeysOf } from '../queue/store.ts'

const insertEventQueue = `
  insert into event_queue (event, source, event_id, type, status, due_at, processed_at, order_key)
  values (?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (source, event_id) do nothing`
const insertEvent = `
  insert into events (id, event_id, direction, source, type, content_type, payload, headers, created_at)
  values (?, ?, 'received', ?, ?, ?, ?, ?, ?)`

/**
 * Inserts the events that are new by the key of the event queue, in the caller's transaction. Because it holds the write lock, the next
 * number of the log is read once and then counted. Returns the keys of the events that were known, one entry for each event.
 */
export function insertEvents(connection: SqliteConnection, events: readonly IncomingEvent[]): EventKey[] {
  const duplicates: EventKey[] = []
  let next =
    (connection.get<{ seq: number }>(`select seq from sqlite_sequence where name = 'events'`)?.seq ?? 0) + 1
  for (const event of events) {
    const { source, eventId, type, contentType, payload, headers, receivedAt, dueAt, orderKey } = event
    const status = orderKey === null ? event.status : 'blocked'
    const processedAt: SqlValue = status === 'processed' ? receivedAt : null
    if (
      connection.run(insertEventQueue, [next, source, eventId, type, status, dueAt, processedAt, orderKey])
        .changes === 0
    ) {
      duplicates.push({ source, eventId })
      continue
    }
    connection.run(insertEvent, [next, eventId, source, type, contentType, payload, headers, receivedAt])
    next += 1
  }
  for (const key of orderKeysOf(events)) connection.run(advanceOne, [key, key])
  return duplicates
}
