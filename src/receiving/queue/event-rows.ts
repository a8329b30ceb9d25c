import { deserialize, serialize } from 'node:v8'
import type { SqlValue } from '../../storage/sqlite/connection.ts'
import { packRows, unpackRows, type PackedRows } from '../../storage/sqlite/packed-rows.ts'
import type { IncomingEvent } from './incoming.ts'

/** The columns of a spooled event, in the order of `toRow`. */
export const eventColumns =
  'source, event_id, type, content_type, payload, headers, received_at, status, due_at, order_key'

export function toRow(event: IncomingEvent): SqlValue[] {
  const { source, eventId, type, contentType, payload, headers, receivedAt, status, dueAt, orderKey } = event
  return [source, eventId, type, contentType, payload, headers, receivedAt, status, dueAt, orderKey]
}

type EventRow = [
  source: string,
  eventId: string,
  type: string,
  contentType: string,
  payload: Uint8Array,
  headers: string,
  receivedAt: number,
  status: IncomingEvent['status'],
  dueAt: number,
  orderKey: string | null,
]

export function fromRow(row: readonly SqlValue[]): IncomingEvent {
  const [source, eventId, type, contentType, payload, headers, receivedAt, status, dueAt, orderKey] =
    row as unknown as EventRow
  return { source, eventId, type, contentType, payload, headers, receivedAt, status, dueAt, orderKey }
}

/** Packs events for another thread. */
export function packEvents(events: readonly IncomingEvent[]): PackedRows {
  return packRows(events.map(toRow))
}

export function unpackEvents(packed: PackedRows): IncomingEvent[] {
  return unpackRows(packed).map(fromRow)
}

/** The version of the format of `encodeEvents`. */
const format = 1

/**
 * Events as bytes, to be stored outside of this process. Later versions of Node.js can read them
 * (https://nodejs.org/api/v8.html#serialization-api).
 */
export function encodeEvents(events: readonly IncomingEvent[]): Uint8Array {
  return serialize([format, events.map(toRow)])
}

/** @throws Error if these are not the bytes of events in the format that this version writes. */
export function decodeEvents(bytes: Uint8Array): IncomingEvent[] {
  const decoded: unknown = deserialize(bytes)
  if (!Array.isArray(decoded) || decoded[0] !== format)
    throw new Error('the bytes are not events in a format that this version knows')
  return (decoded[1] as SqlValue[][]).map(fromRow)
}
