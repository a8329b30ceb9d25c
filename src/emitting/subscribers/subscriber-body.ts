import { type Static, Type } from 'typebox'
import { channelPattern, ownerPattern } from '../events/event.ts'
import { ConditionBody, mostConditions } from './conditions.ts'
import { AuthBody, SecretsBody, TlsBody } from './credentials.ts'
import { type Given, requestOptions } from './request-options.ts'
import { Metadata, Uid } from './metadata.ts'
import { closedObject, nullable, storablePattern } from '../../http/schemas/schemas.ts'

/** An exact type, or a pattern: a type in which `*` stands for any of the parts between full stops. */
export const eventTypesPattern =
  '^(?=.{1,256}$)([A-Za-z0-9._:/-]+|(\\*|[A-Za-z0-9_:/-]+)(\\.(\\*|[A-Za-z0-9_:/-]*))*)$'

/** The same in words. */
const eventTypesForm =
  'An event type of letters, digits and `._:/-`, or a pattern such as `order.*`, `*.created`, `order.*.paid` or `*`'

const Description = Type.String({ maxLength: 1000, pattern: storablePattern })
const orDefault = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T, description: string) =>
  Type.Optional(nullable(schema, description))

const Channel = Type.String({
  pattern: channelPattern,
  description: '1 to 128 letters, digits and `. _ -`',
})

/** Settings that owners may change: none lets a subscriber use more resources than others. */
const ownSettings = {
  description: orDefault(Description, 'A note'),
  eventTypes: Type.Optional(
    Type.Array(Type.String({ pattern: eventTypesPattern, description: eventTypesForm }), {
      minItems: 1,
      maxItems: 100,
      description:
        'Event types; in `order.*`, `*.created` and `order.*.paid`, `*` stands for any text. Default: all.',
    }),
  ),
  conditions: orDefault(
    Type.Array(ConditionBody, { maxItems: mostConditions }),
    'Conditions on an event’s data; all must hold for the event to be sent',
  ),
  channels: orDefault(
    Type.Array(Channel, { maxItems: 10 }),
    'The subscriber gets only events with one of these channels. Default: all events',
  ),
  headers: orDefault(
    Type.Record(Type.String({ maxLength: 128 }), Type.String({ maxLength: 4096 })),
    'Additional headers. `[redacted]` keeps the stored value.',
  ),
  transformation: orDefault(
    Type.String({ minLength: 1, maxLength: 16_384, pattern: storablePattern }),
    'JavaScript with a function `handler(webhook)` that changes each request; null removes it',
  ),
  ordered: Type.Optional(
    Type.Boolean({
      description: 'Send one delivery at a time, in the order of emission; a failed one delays the others',
    }),
  ),
  signing: Type.Optional(
    Type.Union([Type.Literal('v1'), Type.Literal('v1a'), Type.Literal('both')], {
      description: 'v1: HMAC-SHA256. v1a: ed25519.',
    }),
  ),
  httpSignature: Type.Optional(
    Type.Boolean({ description: 'Sign by RFC 9421 (HTTP Message Signatures) as well, with the same keys' }),
  ),
  auth: orDefault(AuthBody, 'Credentials of requests; null removes them'),
  tls: orDefault(TlsBody, 'Certificates; null removes them'),
  settings: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Settings of the destination, at most 16 KiB of JSON',
    }),
  ),
  secrets: Type.Optional(SecretsBody),
  ...requestOptions,
  rateLimit: orDefault(Type.Number({ minimum: 0.01, maximum: 10_000 }), 'Attempts per second'),
}

const settings = {
  ...ownSettings,
  retrySchedule: orDefault(
    Type.Array(Type.Number({ minimum: 0, maximum: 2_592_000 }), { minItems: 1, maxItems: 50 }),
    'Seconds before each attempt, the first included',
  ),
  timeout: orDefault(
    Type.Number({ minimum: 0.1, maximum: 300 }),
    'Seconds for one attempt, including the body of the response',
  ),
  concurrency: orDefault(Type.Integer({ minimum: 1, maximum: 100 }), 'Attempts at the same time'),
  uid: orDefault(Uid, 'Your own id, unique among the subscribers of the owner'),
  metadata: orDefault(Metadata, 'Your own strings by name'),
  owner: orDefault(
    Type.String({
      pattern: ownerPattern,
      description: 'The id of an owner: 1 to 256 visible ASCII characters without spaces, and not `*`',
    }),
    'The tenant or user who owns the subscriber: it only gets events for this audience',
  ),
  operational: Type.Optional(
    Type.Boolean({
      description:
        'Whether it only gets the events about deliveries and subscribers (`delivery.dead`, `subscriber.disabled`, …)',
    }),
  ),
}

const url = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 2048,
    description: 'https; http with ALLOW_PRIVATE_NETWORK only',
  }),
)
const destination = Type.Optional(
  Type.String({
    maxLength: 63,
    description: 'In place of a URL: a destination of the configuration, see GET /destinations',
  }),
)
export const Secret = Type.Optional(
  Type.String({
    maxLength: 256,
    description: 'Your own secret: whsec_ and the base64 of 16 to 75 bytes. Default: a new secret.',
  }),
)

const sendTest = Type.Optional(
  Type.Boolean({
    description: 'Send a signed test event at once; `testDeliveryId` identifies its delivery',
  }),
)
const status = Type.Optional(
  Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('disabled')], {
    description:
      'Events that are emitted while it is paused wait; events that are emitted while it is disabled are not delivered',
  }),
)

const registration = { url, destination, secret: Secret, sendTest }
export const NewSubscriberBody = closedObject({ ...registration, ...settings })
export const SubscriberChangeBody = closedObject({ url, status, ...settings })

/** The body for owners in the portal. */
export const OwnNewSubscriberBody = closedObject({ ...registration, ...ownSettings })
export const OwnSubscriberChangeBody = closedObject({ url, status, ...ownSettings })

/** Changes of settings: as in a body, but with times in milliseconds. `null` selects the default of the service. */
export type SubscriberChange = Given<Static<typeof SubscriberChangeBody>>

export type NewSubscriber = SubscriberChange &
  Given<Pick<Static<typeof NewSubscriberBody>, 'destination' | 'secret'>>

/** Converts the units of the API (seconds) to internal ones (milliseconds). */
export function readSettings(body: Static<typeof SubscriberChangeBody>): SubscriberChange {
  return {
    ...body,
    retrySchedule: body.retrySchedule?.map((seconds) => Math.round(seconds * 1000)) ?? body.retrySchedule,
    timeout: typeof body.timeout === 'number' ? Math.round(body.timeout * 1000) : body.timeout,
  }
}
