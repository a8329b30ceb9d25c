import { Type, type Static } from 'typebox'
import { everybody, ownerPattern } from './audience.ts'
import { eventIdPattern, eventTypePattern } from './event.ts'
import { closedObject } from '../../http/schemas/schemas.ts'

export const NewEventBody = closedObject({
  type: Type.String({
    pattern: eventTypePattern,
    description: 'The type, such as `order.paid`, by which subscribers select events',
  }),
  data: Type.Unknown({ description: 'Any JSON value; sent unchanged' }),
  id: Type.Optional(
    Type.String({
      pattern: eventIdPattern,
      description:
        'The stable id, which makes the call idempotent: 1 to 256 visible ASCII characters without a full stop. Default: a new id.',
    }),
  ),
  audience: Type.Optional(
    Type.Union([Type.String({ pattern: ownerPattern }), Type.Literal(everybody)], {
      description:
        'The owner whose subscribers get it, or `*` for all subscribers. Default: subscribers without an owner.',
    }),
  ),
})

/** Events of one array. They share a transaction. */
const mostEvents = 1000

export const NewEventsBody = Type.Array(NewEventBody, {
  minItems: 1,
  maxItems: mostEvents,
  description: 'All of them or none',
})

export const EmittedView = closedObject({
  id: Type.Integer({ description: 'The number in the event log: GET /events/{id}' }),
  eventId: Type.String({ description: 'The stable id that subscribers get' }),
  type: Type.String(),
})

/** The response to a line of NDJSON: that of a call with this line alone. */
export type LineAnswer = { line: number } & (
  | ({ status: 202 } & Static<typeof EmittedView>)
  | { status: number; code: string; detail?: string | undefined; pointer?: string | undefined }
)
