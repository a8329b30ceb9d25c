import { Type } from 'typebox'
import { isoTime } from '../runtime/iso-time.ts'
import type { EventRow } from './store.ts'
import { nullable } from '../http/schemas/schemas.ts'

/** An event as lists show it. */
export const EventItem = Type.Object({
  id: Type.Integer({ description: 'The number in the log; it only grows.' }),
  eventId: Type.String({ description: 'The stable id of the webhook event.' }),
  type: Type.String(),
  direction: Type.Union([Type.Literal('received'), Type.Literal('emitted')]),
  source: nullable(Type.String(), 'The source that a received event came from.'),
  status: Type.String({
    description:
      'Received: pending, retrying (failed at least once, will be tried again), blocked (behind an earlier event of its order key), processed, unhandled (no handler matches its type), failed. Emitted: pending, retrying (a delivery failed, will be tried again), delivered, failed, or unsubscribed when no subscriber matched.',
  }),
  createdAt: Type.String({ format: 'date-time' }),
})

export function presentEvent(row: EventRow) {
  return {
    id: row.id,
    eventId: row.event_id,
    type: row.type,
    direction: row.direction,
    source: row.source,
    status: row.status,
    createdAt: isoTime(row.created_at),
  }
}
