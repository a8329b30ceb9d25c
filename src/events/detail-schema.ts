import { Type } from 'typebox'
import { DateTime, nullable, NullableText, optionalText } from '../http/schemas/schemas.ts'
import { EventItem } from './present.ts'

const time = nullable(DateTime)

const Attempt = Type.Object({
  number: Type.Integer(),
  at: DateTime,
  durationMs: Type.Integer(),
  status: nullable(Type.Integer(), 'HTTP status; null without an answer'),
  error: NullableText,
  failure: nullable(Type.String(), 'The kind of failure, a stable word such as `refused`'),
})

const Delivery = Type.Object({
  id: Type.Integer(),
  event: Type.Integer(),
  subscriberId: Type.String(),
  subscriberHost: Type.String({ description: 'The host of its address' }),
  subscriberDescription: NullableText,
  status: Type.String(),
  attempts: Type.Integer(),
  lastStatus: nullable(Type.Integer(), 'HTTP status of the newest attempt.'),
  lastError: NullableText,
  nextAttemptAt: time,
  createdAt: time,
  finishedAt: time,
  attemptLog: Type.Array(Attempt, { description: 'The newest ten attempts, in their order' }),
})

const Emitted = Type.Object({
  id: Type.Integer(),
  eventId: Type.String(),
  type: nullable(Type.String(), 'Null when it is no longer stored'),
  status: NullableText,
  createdAt: time,
})

const Processing = Type.Object({
  attempts: Type.Integer(),
  processedAt: time,
  nextAttemptAt: time,
  running: Type.Boolean({ description: 'Whether a handler is running now' }),
  orderKey: NullableText,
  blockedBy: nullable(
    Type.Integer(),
    'The event of the same order key that has to be processed before; null unless the status is `blocked`',
  ),
  failures: Type.Array(
    Type.Object({ number: Type.Integer(), at: time, durationMs: Type.Integer(), error: Type.String() }),
  ),
})

/** An event with everything that its page shows. */
export const EventDetail = Type.Object({
  ...EventItem.properties,
  contentType: Type.String(),
  audience: nullable(
    Type.String(),
    'Of an emitted event: the owner whose subscribers get it, `*` for all; null for those without an owner.',
  ),
  headers: nullable(
    Type.Record(Type.String(), Type.String()),
    'Of the request that brought a received event, without credentials and signatures.',
  ),
  verification: nullable(
    Type.Object({
      scheme: Type.String({ description: 'By which scheme' }),
      secret: nullable(Type.Integer(), 'By which secret of the source: its place among them, from 1'),
      signedAt: nullable(DateTime, 'The time that the sender signed'),
    }),
    'How a received event was shown to come from its sender.',
  ),
  causedBy: nullable(Type.Integer(), 'The number of the received event whose handler emitted this one.'),
  emitted: Type.Array(Emitted, {
    description: "The first hundred events that a received event's handlers emitted, in their transactions.",
  }),
  processing: nullable(Processing, 'Of a received event.'),
  deliveries: Type.Array(Delivery, { description: 'Of an emitted event: the first hundred.' }),
  emittedDeliveries: Type.Array(Delivery, {
    description: 'Of the events that a received event’s handlers emitted: the first hundred.',
  }),
  payload: Type.Optional(
    Type.Unknown({
      description:
        'The JSON that came or is sent, digit for digit; the sender’s credentials in it are shown as `[redacted]`.',
    }),
  ),
  payloadBase64: optionalText('Instead of `payload` when the bytes are no JSON.'),
})
