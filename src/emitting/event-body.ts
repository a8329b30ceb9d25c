import { Type, type Static } from 'typebox'
import { everybody, ownerPattern } from './audience.ts'
import { eventIdPattern, eventTypePattern } from './event.ts'

export const NewEventBody = Type.Object(
  {
    type: Type.String({
      pattern: eventTypePattern,
      description: 'What the event is, such as `order.paid`; subscribers choose by it',
    }),
    data: Type.Unknown({ description: 'Any JSON value; sent as it is' }),
    id: Type.Optional(
      Type.String({
        pattern: eventIdPattern,
        description:
          'Makes the same call twice the same event: 1 to 256 visible ASCII characters without a full stop. Default: a new one.',
      }),
    ),
    audience: Type.Optional(
      Type.Union([Type.String({ pattern: ownerPattern }), Type.Literal(everybody)], {
        description:
          'The owner whose subscribers get it, or `*` for everybody’s. Default: subscribers without an owner.',
      }),
    ),
  },
  { additionalProperties: false },
)

/** Events of one array. They share a transaction. */
const mostEvents = 1000

export const NewEventsBody = Type.Array(NewEventBody, {
  minItems: 1,
  maxItems: mostEvents,
  description: 'All of them or none',
})

export const EmittedView = Type.Object(
  {
    id: Type.Integer({ description: 'Its place in the log: GET /events/{id}' }),
    eventId: Type.String({ description: 'The stable id that subscribers get' }),
    type: Type.String(),
  },
  { additionalProperties: false },
)

/** The answer to a line of NDJSON, as to a call with that line alone. */
export type LineAnswer = { line: number } & (
  | ({ status: 202 } & Static<typeof EmittedView>)
  | { status: number; code: string; detail?: string | undefined; pointer?: string | undefined }
)
