import { Type } from 'typebox'
import { isoTime } from '../runtime/iso-time.ts'
import type { EventRow } from './store.ts'
import { nullable } from '../http/schemas/schemas.ts'
import { Problem } from '../errors.ts'

/** An event as lists show it. */
export const EventItem = Type.Object({
  id: Type.Integer({ description: 'The number in the log; it only grows.' }),
  eventId: Type.String({ description: 'The stable id of the webhook event.' }),
  type: Type.String(),
  direction: Type.Union([Type.Literal('received'), Type.Literal('emitted')]),
  source: nullable(Type.String(), 'The source that a received event came from.'),
  status: Type.String({
    description:
      'Received: pending, retrying (failed at least once, will be tried again), blocked (behind an earlier event of its order key), processed, unhandled (no handler matches its type), failed. Emitted: scheduled (see `deliverAt`), canceled, pending, retrying (a delivery failed, will be tried again), delivered, failed, or unsubscribed when no subscriber matched.',
  }),
  createdAt: Type.String({ format: 'date-time' }),
  deliverAt: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'When a scheduled event is sent, or a canceled one would have been.',
    }),
  ),
  channels: Type.Optional(Type.Array(Type.String(), { description: 'Of an emitted event that has any.' })),
  tags: Type.Optional(Type.Array(Type.String(), { description: 'Of an emitted event that has any.' })),
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

/** The channels and tags of an event as lists show them, from its row of `event_options`. */
export function presentOptions(row: { channels: string | null; tags: string | null } | undefined) {
  const read = (json: string): string[] => JSON.parse(json) as string[]
  return {
    ...(row?.channels && { channels: read(row.channels) }),
    ...(row?.tags && { tags: read(row.tags) }),
  }
}

/**
 * Reads the `cursor` of `GET /events`: the number of the last event that the caller has. Absent means from the start.
 * Accepts any non-negative integer of any length (http/create-app.ts bounds the address). Numbers above Number.MAX_SAFE_INTEGER all mean
 * the end of the log.
 * @throws Problem `invalid-cursor` for everything else, the empty text included.
 */
export function readEventCursor(text: string | undefined): number {
  if (text === undefined) return 0
  if (!/^\d+$/.test(text)) {
    throw new Problem('invalid-cursor', {
      parameter: 'cursor',
      detail: 'A cursor of the event log is a whole number that is not negative.',
    })
  }
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}

/** Reads the number of an event from a path. @throws Problem `not-found` if the text is not a possible number */
export function readEventNumber(text: string): number {
  const number = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new Problem('not-found')
  return number
}
