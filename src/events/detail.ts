import { isUtf8 } from 'node:buffer'
import { sql } from 'kysely'
import { Problem } from '../errors.ts'
import type { Database, Queryable } from '../storage/database.ts'
import { presentEvent, presentOptions } from './present.ts'
import { redactPayload } from './redact-payload.ts'
import { isSensitiveHeader } from '../telemetry/printable.ts'
import {
  type EventStatus,
  readStoredHeaders,
  receivedStatus,
  statusExpression,
  type Verification,
  type EventRow,
} from './store.ts'
import { isoTime, isoTimeOrNull } from '../runtime/iso-time.ts'
import { deliveredId, longestChain } from '../telemetry/propagation.ts'

/** Failures, deliveries, emitted events and events that came back that one response shows: the newest failures, the first of the others. */
const mostShown = 100

/**
 * One event with its payload, processing and deliveries, as the JSON of the response. The payload is inserted as its original
 * bytes, because parsing would change numbers beyond 2^53. Only the sender's credentials in it are redacted.
 * @throws Problem `not-found`; `no-longer-kept` if only the id of the event is stored
 */
export async function describeEvent({ reader }: Database, id: number): Promise<Buffer> {
  const event = await readEvent(reader, id)
  if (!event) throw await describeAbsence(reader, id)
  const { payload, headers, content_type: contentType, audience, deliver_at, canceled_at, ...row } = event
  const stored = readStoredHeaders(headers)
  const emitted = await describeEmitted(reader, id)
  const causes = await describeCauses(reader, event)
  const shown = {
    ...presentEvent(row),
    contentType,
    audience,
    ...(deliver_at !== null && { deliverAt: isoTime(deliver_at) }),
    ...presentOptions(event),
    canceledAt: isoTimeOrNull(canceled_at),
    uid: event.uid,
    payloadExpiresAt: isoTimeOrNull(event.expires_at),
    payloadRemovedAt: isoTimeOrNull(event.expunged_at),
    headers: headers === null ? null : shownHeaders(stored.headers),
    verification: describeVerification(stored.verification),
    causedBy: causes[0]?.id ?? null,
    causes,
    emitted,
    returned: event.direction === 'emitted' ? await describeReturned(reader, event) : [],
    processing: await describeProcessing(reader, id),
    deliveries: await describeDeliveries(reader, [id]),
    emittedDeliveries: await describeDeliveries(
      reader,
      emitted.map((event) => event.id),
    ),
  }
  const bytes = redactPayload(
    Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength),
    stored.verification?.scheme,
  )
  const json = withoutMark(bytes)
  const [name, value] = isJson(json)
    ? ['payload', json]
    : ['payloadBase64', Buffer.from(`"${bytes.toString('base64')}"`)]
  return Buffer.concat([
    Buffer.from(`${JSON.stringify(shown).slice(0, -1)},"${name}":`),
    value,
    Buffer.from('}'),
  ])
}

function readEvent(reader: Queryable, id: number) {
  return reader
    .selectFrom('events as e')
    .leftJoin('idempotency_keys as k', 'k.event', 'e.id')
    .leftJoin('scheduled_events as s', 's.event', 'e.id')
    .leftJoin('event_options as o', 'o.event', 'e.id')
    .select([
      's.deliver_at',
      's.canceled_at',
      'o.uid',
      'o.channels',
      'o.tags',
      'o.expires_at',
      'o.expunged_at',
      'k.audience',
      'e.id',
      'e.event_id',
      'e.type',
      'e.direction',
      'e.source',
      'e.created_at',
      'e.content_type',
      'e.headers',
      'e.payload',
    ])
    .select(sql<EventStatus>`${sql.raw(statusExpression)}`.as('status'))
    .where('e.id', '=', id)
    .executeTakeFirst()
}

/** Why the event is absent: it is unknown, or its payload was removed and only its id is stored. */
async function describeAbsence(reader: Queryable, id: number): Promise<Problem> {
  const received = await reader
    .selectFrom('event_queue')
    .select(['event_id', 'source', 'status', 'attempts', 'processed_at'])
    .where('event', '=', id)
    .executeTakeFirst()
  if (received) {
    const { event_id: eventId, source, processed_at: at } = received
    const when = at === null ? '' : ` at ${isoTime(at)}`
    return gone(`It was the event ${eventId} of the source ${source}, ${receivedStatus(received)}${when}.`)
  }
  const emitted = await reader
    .selectFrom('idempotency_keys')
    .select(['event_id', 'created_at'])
    .where('event', '=', id)
    .executeTakeFirst()
  if (!emitted) return new Problem('not-found')
  return gone(`It was the event ${emitted.event_id}, emitted at ${isoTime(emitted.created_at)}.`)
}

function gone(what: string): Problem {
  return new Problem('no-longer-kept', {
    detail: `${what} Its body and history were removed. Its ID is stored to recognize duplicates.`,
  })
}

/** Omits headers with credentials, some of which older versions stored. */
function shownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isSensitiveHeader(name)))
}

function describeVerification(verification: Verification | undefined) {
  if (!verification) return null
  const { scheme, secret, signedAt } = verification
  return { scheme, secret: secret ?? null, signedAt: isoTimeOrNull(signedAt) }
}

/** The events that its handlers emitted, in their order. The type of a removed event is null. */
async function describeEmitted(reader: Queryable, event: number) {
  const rows = await reader
    .selectFrom('idempotency_keys as k')
    .leftJoin('events as e', 'e.id', 'k.event')
    .select(['k.event as id', 'k.event_id as eventId', 'e.type', 'e.created_at'])
    .select(
      sql<EventStatus | null>`case when e.id is null then null else ${sql.raw(statusExpression)} end`.as(
        'status',
      ),
    )
    .where('k.caused_by', '=', event)
    .orderBy('k.event')
    .limit(mostShown)
    .execute()
  return rows.map(({ created_at, ...row }) => Object.assign(row, { createdAt: isoTimeOrNull(created_at) }))
}

async function describeProcessing(reader: Queryable, event: number) {
  const entry = await reader
    .selectFrom('event_queue')
    .select(['status', 'attempts', 'due_at', 'claim', 'processed_at', 'order_key'])
    .where('event', '=', event)
    .executeTakeFirst()
  if (!entry) return null
  const failures = await reader
    .selectFrom('handler_failures')
    .select(['number', 'at', 'duration_ms as durationMs', 'error'])
    .where('event', '=', event)
    .orderBy('number', 'desc')
    .limit(mostShown)
    .execute()
  const waiting = entry.status === 'pending' && entry.claim === null
  return {
    attempts: entry.attempts,
    processedAt: isoTimeOrNull(entry.processed_at),
    nextAttemptAt: waiting ? isoTime(entry.due_at) : null,
    running: entry.status === 'pending' && entry.claim !== null,
    orderKey: entry.order_key,
    blockedBy: entry.status === 'blocked' ? await firstOfKey(reader, entry.order_key) : null,
    failures: failures.toReversed().map(({ at, ...one }) => Object.assign(one, { at: isoTime(at) })),
  }
}

/** The pending event of an order key, which those behind it wait for. */
async function firstOfKey(reader: Queryable, orderKey: string | null): Promise<number | null> {
  const row = await reader
    .selectFrom('event_queue')
    .select('event')
    .where('order_key', '=', orderKey)
    .where('status', '=', 'pending')
    .orderBy('event')
    .limit(1)
    .executeTakeFirst()
  return row?.event ?? null
}

/** A byte order mark may stand before JSON, but not within it. */
function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

/** Whether the bytes can be inserted into JSON text unchanged. */
function isJson(bytes: Buffer): boolean {
  if (!isUtf8(bytes)) return false
  try {
    JSON.parse(bytes.toString('utf8'))
    return true
  } catch {
    return false
  }
}

/** Deliveries that one response shows, and the newest attempts of each. */
const mostDeliveries = 100
const mostAttempts = 10

/** The first deliveries of some events, in their order, each with its newest attempts. */
async function describeDeliveries(reader: Queryable, events: readonly number[]) {
  if (events.length === 0) return []
  const deliveries = await reader
    .selectFrom('deliveries as d')
    .innerJoin('subscribers as s', 's.id', 'd.subscriber_id')
    .select(['d.id', 'd.event', 'd.subscriber_id as subscriberId', 'd.status', 'd.attempts', 'd.due_at'])
    .select(['d.created_at', 'd.finished_at', 's.url', 's.description as subscriberDescription'])
    .where('d.event', 'in', events)
    .orderBy('d.id')
    .limit(mostDeliveries)
    .execute()
  if (deliveries.length === 0) return []
  const ids = deliveries.map(({ id }) => id)
  const attempts = await readAttempts(reader, ids)
  return deliveries.map(({ url, due_at, created_at, finished_at, ...delivery }) => {
    const made = attempts.get(delivery.id) ?? []
    const last = made.find(({ number }) => number === delivery.attempts)
    return Object.assign(delivery, {
      // The whole address may contain a credential.
      subscriberHost: new URL(url).host,
      lastStatus: last?.status ?? null,
      lastError: last?.error ?? null,
      nextAttemptAt: delivery.status === 'pending' ? isoTime(due_at) : null,
      createdAt: isoTime(created_at),
      finishedAt: isoTimeOrNull(finished_at),
      attemptLog: made.map(viewAttempt),
    })
  })
}

async function readAttempts(reader: Queryable, deliveries: readonly number[]) {
  const rows = await reader
    .selectFrom('attempts as a')
    .innerJoin('deliveries as d', 'd.id', 'a.delivery')
    .select(['a.delivery', 'a.number', 'a.at', 'a.duration_ms', 'a.status', 'a.error', 'a.failure'])
    .where('a.delivery', 'in', deliveries)
    .where((eb) => eb('a.number', '>', eb('d.attempts', '-', mostAttempts)))
    .orderBy('a.delivery')
    .orderBy('a.number')
    .execute()
  return Map.groupBy(rows, ({ delivery }) => delivery)
}

type AttemptRow = NonNullable<ReturnType<Awaited<ReturnType<typeof readAttempts>>['get']>>[number]

function viewAttempt({ number, at, duration_ms: durationMs, status, error, failure }: AttemptRow) {
  return { number, at: isoTime(at), durationMs, status, error, failure }
}

/** What causes are looked up by. `headers` is null if they are no longer stored. */
type Known = Pick<EventRow, 'id' | 'direction'> & { headers: string | null }

interface Cause extends Known {
  eventId: string
  /** Null if it is no longer stored. */
  type: string | null
  source: string | null
  created_at: number | null
}

/**
 * The chain of events that led to one, the nearest first: an emitted event is caused by the received one whose handler emitted it, a
 * received one by the emitted one whose delivery it was. At most two index seeks for each.
 */
async function describeCauses(reader: Queryable, event: Known) {
  const causes: Cause[] = []
  for (let last = event; causes.length < longestChain;) {
    const cause = last.direction === 'emitted' ? await handled(reader, last) : await delivered(reader, last)
    if (!cause) break
    causes.push(cause)
    last = cause
  }
  return causes.map(({ id, eventId, direction, type, source, created_at }) => {
    return { id, eventId, direction, type, source, createdAt: isoTimeOrNull(created_at) }
  })
}

/** The received event whose handler emitted this one. */
async function handled(reader: Queryable, { id }: Known): Promise<Cause | undefined> {
  const row = await reader
    .selectFrom('idempotency_keys as k')
    .leftJoin('event_queue as q', 'q.event', 'k.caused_by')
    .leftJoin('events as e', 'e.id', 'k.caused_by')
    .select(['k.caused_by as id', 'q.event_id as eventId', 'q.type', 'q.source', 'e.created_at', 'e.headers'])
    .where('k.event', '=', id)
    .where('k.caused_by', 'is not', null)
    .$narrowType<{ id: number }>()
    .executeTakeFirst()
  // Its marker may have been removed too.
  return row && { ...row, eventId: row.eventId ?? '', direction: 'received' }
}

/** The emitted event whose delivery this received one was. It is older, so that no chain comes back to itself. */
async function delivered(reader: Queryable, { id, headers }: Known): Promise<Cause | undefined> {
  const eventId = deliveredId(readStoredHeaders(headers).headers)
  if (eventId === undefined) return undefined
  const row = await reader
    .selectFrom('idempotency_keys as k')
    .leftJoin('events as e', 'e.id', 'k.event')
    .select(['k.event as id', 'k.event_id as eventId', 'k.created_at', 'e.type'])
    .where('k.event_id', '=', eventId)
    .where('k.event', '<', id)
    .executeTakeFirst()
  return row && { ...row, direction: 'emitted', source: null, headers: null }
}

interface Returned {
  eventId: string
  headers: string
}

/** The events that sources received as deliveries of an emitted one. One index seek for each source that there is. */
async function describeReturned(reader: Queryable, { id, event_id: eventId }: EventRow) {
  const { rows } = await sql<Pick<EventRow, 'id' | 'type' | 'source' | 'status' | 'created_at'> & Returned>`
    with recursive sources(source) as (
      select min(source) from event_queue
      union all
      select (select min(q.source) from event_queue q where q.source > sources.source) from sources where source is not null)
    select e.id, e.event_id as "eventId", e.type, e.source, ${sql.raw(statusExpression)} as status, e.created_at, e.headers
    from sources join event_queue q on q.source = sources.source and q.event_id = ${eventId}
      join events e on e.id = q.event
    where e.id > ${id} order by e.id limit ${sql.lit(mostShown)}`.execute(reader)
  return rows.flatMap(({ created_at, headers, ...row }) =>
    deliveredId(readStoredHeaders(headers).headers) === eventId
      ? [Object.assign(row, { createdAt: isoTimeOrNull(created_at) })]
      : [],
  )
}
