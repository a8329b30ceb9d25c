import { createHash } from 'node:crypto'
import { newId, newNonce } from '../../crypto/ids.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { canonicalJson, isRawNumber, stringifyExactly } from '../../json/exact.ts'
import { canonicalTime } from '../../paging/time.ts'
import { matchesPattern } from '../../events/type-pattern.ts'
import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { invalidBody, type Problem } from '../../errors.ts'
import type { Row } from '../../storage/tables.ts'
import { type Static, Type } from 'typebox'
import { closedObject, dateTime } from '../../http/schemas/schemas.ts'

/** The audience of an event for all subscribers, of every owner and without an owner. */
export const everybody = '*'

/** The name of a tenant or user: 1 to 256 visible ASCII characters, except `*` alone. */
export const ownerPattern = '^(?!\\*$)[!-~]{1,256}$'

/**
 * Whether an event for `audience` is for a subscriber of `owner`. An event without an audience goes to subscribers
 * without an owner only: a forgotten audience must not show one tenant's data to another.
 * @param ownerlessGetAll whether subscribers without an owner also get events for an owner
 */
export function isFor(audience: string | null, owner: string | null, ownerlessGetAll: boolean): boolean {
  if (audience === everybody) return true
  return owner === null ? audience === null || ownerlessGetAll : owner === audience
}

/**
 * SQL for `isFor`, about the event of a row of `deliveries`. Subscribers with an owner only get such deliveries, but versions
 * up to 1.0 let a subscriber change its owner.
 */
export function isForOwner(owner: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`(select idempotency_keys.audience from idempotency_keys where idempotency_keys.event = deliveries.event) in (${owner}, ${everybody})`
}

/** The same for the owner of the delivery's subscriber; true for a subscriber without an owner. */
export const isForItsOwner = sql<SqlBool>`(
  select s.owner is null or k.audience in (s.owner, ${sql.lit(everybody)})
  from subscribers s left join idempotency_keys k on k.event = deliveries.event where s.id = deliveries.subscriber_id)`

/** The subscribers that a caller can see and change: all of them (admins), or those of one owner. */
export type Reach = 'all' | { readonly owner: string }

export function reaches(reach: Reach, owner: string | null): boolean {
  return reach === 'all' || reach.owner === owner
}

/** An event as a caller emits it. */
export interface NewEvent extends GivenOptions {
  type: string
  /** Any JSON value. Numbers may be bigint or JSON.rawJSON; those of a received payload keep their digits. */
  data: unknown
  /** Instead of `data`: JSON that is sent unchanged. */
  dataJson?: string | undefined
  /** Makes the call idempotent. Default: a new id. */
  id?: string | undefined
  /** The owner whose subscribers get it, or `*` for all subscribers. Default: subscribers without an owner. */
  audience?: string | undefined
  /** When it is to be sent: ISO 8601, at most a year from now. Default: at once. */
  deliverAt?: string | undefined
  /** Instead: seconds from now. */
  delay?: number | undefined
  /** Headers of its deliveries, as JSON. See `passedOn`. */
  headers?: string | null | undefined
  /** Identifies the request. The same id with another key is a conflict, even with the same content. */
  requestKey?: string | undefined
}

/** Seconds for which an event can be scheduled: a leap year. */
const longestDelay = 366 * 86_400

/** Letters, digits and `. _ - : /`, 1 to 256 of them. */
export const eventTypePattern = '^[A-Za-z0-9._:/-]{1,256}$'
/**
 * Visible ASCII without a full stop, 1 to 256 characters: it is sent as a header. What is signed is `id.timestamp.body`
 * (Standard Webhooks), so with a full stop in the id one signature would hold for two readings: `b.1700000000` is also
 * the id `b` with that time, which a stock verifier accepts.
 */
export const eventIdPattern = '^[!-\\-/-~]{1,256}$'

export const channelPattern = '^[A-Za-z0-9._-]{1,128}$'
const tagPattern = '^[A-Za-z0-9._/\\\\#-]{1,128}$'
/** The most channels, and the most tags, of one event. */
const mostChannels = 5
/** Seconds. Events are removed after PAYLOAD_RETENTION_DAYS even if this is longer. */
const longestRetention = 366 * 86_400

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
  deliverAt: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        'When to send it: ISO 8601 with an offset, at most a year from now; a time in the past means now. `DELETE /events/{id}` cancels it before',
    }),
  ),
  delay: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: longestDelay,
      description: 'Instead of `deliverAt`: seconds from now',
    }),
  ),
  channels: Type.Optional(
    Type.Array(Type.String({ pattern: channelPattern }), {
      minItems: 1,
      maxItems: mostChannels,
      description:
        'Subscribers with `channels` get the event only if they share one of these; others get it regardless',
    }),
  ),
  tags: Type.Optional(
    Type.Array(Type.String({ pattern: tagPattern }), {
      minItems: 1,
      maxItems: mostChannels,
      description: 'Labels that `GET /events` shows. They are not sent to subscribers',
    }),
  ),
  payloadRetention: Type.Optional(
    Type.Number({
      minimum: 1,
      maximum: longestRetention,
      description:
        'Seconds for which the payload is stored after the event is sent. Default: as long as the event, see `PAYLOAD_RETENTION_DAYS`',
    }),
  ),
})

/** Converts the numbers that the service itself reads. Bodies are parsed with all digits, so `1.0` is an object until then. */
export function readNumbers(event: unknown): void {
  const given = event as Record<string, object | null | undefined> | null
  for (const name of ['delay', 'payloadRetention']) {
    const value = given?.[name]
    if (typeof value === 'object' && value !== null && isRawNumber(value))
      Object.assign(given!, { [name]: Number(value.rawJSON) })
  }
}

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
  deliverAt: Type.Optional(dateTime('When it is sent, if the request chose a time')),
})

/** The result of emitting an event, as responses show it. */
export function viewEmitted(
  { id, eventId, deliverAt }: { id: number; eventId: string; deliverAt?: number },
  { type }: NewEvent,
): Static<typeof EmittedView> {
  return { id, eventId, type, ...(deliverAt !== undefined && { deliverAt: isoTime(deliverAt) }) }
}

const type = new RegExp(eventTypePattern)
const id = new RegExp(eventIdPattern)
const owner = new RegExp(ownerPattern)
const channel = new RegExp(channelPattern)
const tag = new RegExp(tagPattern)

export interface PreparedEvent {
  eventId: string
  type: string
  audience: string | null
  /** The data as JSON, as it is in the payload. */
  data: string
  /** The bytes that are signed and sent to every subscriber. */
  payload: Buffer
  /** When it is to be sent, in milliseconds since 1970; null: at once. */
  deliverAt: number | null
  /** Sorted, without duplicates. */
  channels: readonly string[] | null
  /** Null without any. */
  options: EventOptions | null
  /** SHA-256 of type, data (in any order of keys), audience, schedule, channels and the key of the request. */
  digest: Buffer
  /** Distinguishes it from all other events, even if one gets the same number after a restore of the database. */
  nonce: number
  /** Headers of its deliveries, as JSON; null without any. */
  headers: string | null
}

/**
 * Validates an event and writes its payload: `{"id","type","timestamp","data"}`.
 * @throws Problem `invalid-body` if the type, the id, the audience or the data does not have the documented form.
 */
export function prepareEvent(event: NewEvent, now: number): PreparedEvent {
  if (!type.test(event.type)) throw invalid('type', 'must be 1 to 256 letters, digits or . _ - : /')
  if (event.id !== undefined && !id.test(event.id))
    throw invalid('id', 'must be 1 to 256 visible ASCII characters without a full stop')
  if (event.audience !== undefined && event.audience !== everybody && !owner.test(event.audience))
    throw invalid('audience', 'must be 1 to 256 visible ASCII characters, or `*` for all')
  const deliverAt = readDeliverAt(event, now)
  const { data, canonical } = writeJson(event)
  const eventId = event.id ?? `msg_${newId(now).replaceAll('-', '')}`
  const head = JSON.stringify({ id: eventId, type: event.type, timestamp: isoTime(now) })
  // Canonical JSON has no line breaks, so data cannot imitate an audience.
  const decided = [event.type, canonical, ...(event.audience === undefined ? [] : [event.audience])]
  const channels = readTexts('channels', event.channels, channel, '. _ -')
  const options = readOptions(event, channels, Math.max(now, deliverAt ?? 0))
  // No audience has a space. A repeated delay means another time, but is the same request.
  if (deliverAt !== null) decided.push(event.delay === undefined ? `at ${deliverAt}` : `in ${event.delay}`)
  if (channels) decided.push(`channels ${channels.join(' ')}`)
  if (event.requestKey !== undefined) decided.push(`request ${event.requestKey}`)
  return {
    eventId,
    type: event.type,
    audience: event.audience ?? null,
    data,
    deliverAt,
    channels,
    options,
    payload: Buffer.from(`${head.slice(0, -1)},"data":${data}}`),
    digest: createHash('sha256').update(decided.join('\n')).digest(),
    nonce: newNonce(),
    headers: event.headers ?? null,
  }
}

const beforeData = Buffer.from(',"data":')

/**
 * The data in a payload, or in the beginning of one of `size` bytes; `undefined` if it was removed. The strings before it cannot contain
 * `beforeData`, because JSON escapes their quotes.
 */
export function dataIn(payload: Uint8Array, size = payload.byteLength): Buffer | undefined {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  const at = bytes.indexOf(beforeData)
  return at < 0 ? undefined : bytes.subarray(at + beforeData.length, size - 1)
}

function readDeliverAt({ deliverAt, delay }: NewEvent, now: number): number | null {
  if (delay !== undefined) {
    if (deliverAt !== undefined) throw invalid('delay', 'cannot be combined with deliverAt')
    if (typeof delay !== 'number' || !(delay >= 0 && delay <= longestDelay))
      throw invalid('delay', `must be 0 to ${longestDelay} seconds`)
    return now + Math.round(delay * 1000)
  }
  if (deliverAt === undefined) return null
  let at: number
  try {
    at = Date.parse(canonicalTime(deliverAt))
  } catch (error) {
    throw invalid('deliverAt', (error as Error).message)
  }
  if (at > now + longestDelay * 1000) throw invalid('deliverAt', 'must be within a year')
  return at
}

/** Fails for cycles and values that are nested too deeply. */
function writeJson({ data: value, dataJson }: NewEvent): { data: string; canonical: string } {
  try {
    const data = dataJson ?? stringifyExactly(value)
    if (data !== undefined) return { data, canonical: canonicalJson(data) }
  } catch (error) {
    // Both writers call themselves for each level, and leave the bound to the stack.
    if (error instanceof RangeError) throw invalid('data', 'is nested too deeply')
    throw invalid('data', `cannot be written as JSON: ${(error as Error).message.split('\n', 1)[0]}`)
  }
  throw invalid('data', 'is required; it may be any JSON value')
}

/** Whether an event's type matches one of a subscriber's patterns. */
export function matchesType(patterns: readonly string[], type: string): boolean {
  return patterns.some((pattern) => pattern === '*' || pattern === type || matchesPattern(pattern, type))
}

/** What a caller can set for an event besides its content. */
interface GivenOptions {
  /** Subscribers with channels get the event only if they share one of these: 1 to 5. Subscribers without channels get it regardless. */
  channels?: readonly string[] | undefined
  /** Labels by which the event can be found: 1 to 5. */
  tags?: readonly string[] | undefined
  /** Seconds for which the payload is stored after the event is sent. */
  payloadRetention?: number | undefined
  /** The caller's own id, stored with the event. Unlike `id`, it does not make the call idempotent. */
  uid?: string | undefined
}

/** A row of `event_options`, without its event. */
type EventOptions = Pick<Row<'event_options'>, 'uid' | 'channels' | 'tags' | 'expires_at'>

/**
 * @param sentAt when the event is sent, in milliseconds since 1970
 * @returns null for an event without options, which has no row
 * @throws Problem `invalid-body`
 */
function readOptions(
  { tags: givenTags, payloadRetention, uid }: GivenOptions,
  channels: readonly string[] | null,
  sentAt: number,
): EventOptions | null {
  if (!channels && givenTags === undefined && payloadRetention === undefined && uid === undefined) return null
  if (
    payloadRetention !== undefined &&
    !(typeof payloadRetention === 'number' && payloadRetention >= 1 && payloadRetention <= longestRetention)
  )
    throw invalid('payloadRetention', `must be 1 to ${longestRetention} seconds`)
  const tags = readTexts('tags', givenTags, tag, '. _ / \\ # -')
  return {
    uid: uid ?? null,
    channels: channels && JSON.stringify(channels),
    tags: tags && JSON.stringify(tags),
    expires_at: payloadRetention === undefined ? null : sentAt + Math.round(payloadRetention * 1000),
  }
}

function readTexts(
  field: string,
  given: readonly string[] | undefined,
  form: RegExp,
  others: string,
): string[] | null {
  if (given === undefined) return null
  const isValid =
    Array.isArray(given) &&
    given.length > 0 &&
    given.length <= mostChannels &&
    given.every((text) => typeof text === 'string' && form.test(text))
  if (!isValid)
    throw invalid(field, `must be 1 to ${mostChannels} strings of 1 to 128 letters, digits or ${others}`)
  return [...new Set<string>(given)].toSorted()
}

function invalid(field: string, rule: string): Problem {
  return invalidBody(`/${field}`, `The event's ${field} ${rule}.`)
}
