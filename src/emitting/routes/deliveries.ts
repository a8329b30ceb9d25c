import { type Static, Type } from 'typebox'
import { type App, route } from '../../http/app.ts'
import { pageSchema, viewPage, pageParameters, readPageRequest } from '../../paging/parameters.ts'
import {
  deliveryStatuses,
  readDeliveryFilter,
  readDeliverySearch,
  readReplayFilter,
  responseClasses,
  type DeliveryEntry,
  pastSignatures,
  type DeliveryDetail,
} from '../deliveries/delivery-log.ts'
import { adminArea, type Area, type EmittingRouteParts, subscriberOf } from './area.ts'
import { closedObject, DateTime, IdParams, nullable, optionalText } from '../../http/schemas/schemas.ts'
import { dataIn } from '../events/event.ts'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { JobView, TotalView, viewJob } from '../../events/jobs.ts'
import { Problem } from '../../errors.ts'
import { readBodyFilters } from '../../http/requests/parameters.ts'
import { subscriberDisabled } from '../subscribers/subscriber-rules.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import { isOpenToOwners } from '../subscribers/destinations.ts'
import type { Phases } from '../../network/exchange.ts'
import type { Row } from '../../storage/tables.ts'
import { troubleshootingHint } from '../attempt/failures.ts'
import { addressKey, bodyKey, methodKey, sizeKey } from '../attempt/attempt.ts'

const DeliveryView = closedObject({
  id: Type.Integer(),
  event: Type.Integer({ description: 'The event’s number in the log: GET /events/{id}' }),
  eventId: Type.String({ description: 'The stable id, sent as webhook-id' }),
  eventType: Type.String(),
  subscriberId: Type.String(),
  status: Type.Enum(deliveryStatuses, { description: 'dead: no further attempt follows' }),
  attemptCount: Type.Integer(),
  lastStatus: nullable(Type.Integer({ description: 'HTTP status of the newest attempt' })),
  lastError: nullable(Type.String()),
  nextAttemptAt: nullable(DateTime),
  createdAt: DateTime,
  finishedAt: nullable(DateTime),
})

const OwnedDeliveryView = closedObject({
  ...DeliveryView.properties,
  subscriberUrl: Type.String({ description: 'The address of the subscriber now' }),
  owner: nullable(Type.String({ description: 'The owner of the subscriber' })),
  ownerName: nullable(Type.String({ description: 'The display name of the owner' })),
})

function viewDelivery(entry: DeliveryEntry): Static<typeof OwnedDeliveryView> {
  const { dueAt, createdAt, finishedAt, ...shown } = entry
  return {
    ...shown,
    nextAttemptAt: entry.status === 'pending' ? isoTime(dueAt) : null,
    createdAt: isoTime(createdAt),
    finishedAt: isoTimeOrNull(finishedAt),
  }
}

/** Replaces what an owner must not see of a destination that only admins register. Its errors may name internal servers. */
function seenBy(area: Area, { destinations }: Pick<EmittingRouteParts, 'destinations'>) {
  const isHidden = ({ subscriberUrl: url }: DeliveryEntry): boolean =>
    !area.reachesAll && !isOpenToOwners(destinations, { url })
  const error = (text: string | null): string | null => text && 'the event could not be delivered'
  return {
    entry: (entry: DeliveryEntry): DeliveryEntry =>
      isHidden(entry) ? { ...entry, lastError: error(entry.lastError) } : entry,
    attempt: (entry: DeliveryEntry, row: Row<'attempts'>): Row<'attempts'> =>
      isHidden(entry) ? { ...row, error: error(row.error), response_body: null } : row,
  }
}

const Headers = Type.Record(Type.String(), Type.String())

const Milliseconds = (description: string) => nullable(Type.Number({ description }))

const PhasesView = closedObject(
  {
    reused: Type.Boolean({
      description: 'Whether an existing connection was reused',
    }),
    dns: Milliseconds('Resolving the host name'),
    connect: Milliseconds('Connecting'),
    tls: Milliseconds('The TLS handshake'),
    firstByte: Milliseconds('From sending the request to the head of the response'),
    total: Type.Number({ description: 'The whole attempt' }),
  },
  {
    description: 'Milliseconds of each part; null for parts that did not occur or finish',
  },
)

const AttemptView = closedObject({
  number: Type.Integer(),
  at: DateTime,
  url: nullable(Type.String({ description: 'The address that it was sent to; null if no request was made' })),
  method: Type.String({ description: 'POST, PUT or PATCH' }),
  status: nullable(Type.Integer()),
  durationMs: Type.Integer(),
  phases: nullable(PhasesView),
  error: nullable(Type.String({ description: 'The error message' })),
  failure: nullable(Type.String({ description: 'The kind of failure, a stable word such as `refused`' })),
  advice: nullable(Type.String({ description: 'A troubleshooting hint' })),
  requestHeaders: Headers,
  requestBody: nullable(
    Type.String({
      description: 'The body that was sent, if it differs from the payload: its first 64 KiB, as UTF-8',
    }),
  ),
  requestBodyBytes: nullable(Type.Integer(), 'The length of that whole body'),
  transformed: Type.Boolean({ description: "Whether the subscriber's transformation made that body" }),
  signature: nullable(
    Type.String({
      description:
        'The value of `webhook-signature` or `svix-signature`, computed again from the keys of that time that still exist. Null for five minutes, while a receiver would accept it; without such a key; and for payloads of more than 64 KiB',
    }),
  ),
  responseHeaders: nullable(Headers),
  responseBody: nullable(
    Type.String({ description: 'The first 64 KiB, as UTF-8; the first 4 KiB in the portal' }),
  ),
})

/** Response headers that owners see: those that describe the response, and those that the service evaluates. */
const shownToOwners: ReadonlySet<string> = new Set([
  'content-length',
  'content-type',
  'date',
  'location',
  'retry-after',
  'server',
  'webhook-delivery',
])

/** The headers of a response. Owners see the usual ones: they choose the address, and a server may tell this service more than it tells them. */
export function responseHeaders(
  { response_headers: json }: Pick<Row<'attempts'>, 'response_headers'>,
  isOwner: boolean,
) {
  if (json === null) return null
  const headers = Object.entries(JSON.parse(json) as Record<string, string>)
  return Object.fromEntries(isOwner ? headers.filter(([name]) => shownToOwners.has(name)) : headers)
}

/** Bytes of a response body that owners see: enough for an error message, too few to read pages of a server. */
const bodyShownToOwners = 4 * 1024

export function responseBody(
  { response_body: body }: Pick<Row<'attempts'>, 'response_body'>,
  isOwner: boolean,
) {
  return body && Buffer.from(isOwner ? body.subarray(0, bodyShownToOwners) : body)
}

const noPhases = { dns: null, connect: null, tls: null, firstByte: null }

function viewAttempt(
  row: Row<'attempts'>,
  { signature, detail, isOwner }: { signature: string | null; detail: DeliveryDetail; isOwner: boolean },
): Static<typeof AttemptView> {
  const {
    [addressKey]: url = null,
    [methodKey]: method = 'POST',
    [bodyKey]: body,
    [sizeKey]: bytes,
    ...requestHeaders
  } = JSON.parse(row.request_headers) as Record<string, string>
  const { payload, size } = detail
  const requestBody = row.request_body ?? (body === 'data' ? (dataIn(payload, size) ?? payload) : null)
  // The data ends one byte before the payload.
  const behind = row.request_body ? 0 : Math.max(0, size - 1 - payload.length)
  return {
    number: row.number,
    at: isoTime(row.at),
    url,
    method,
    status: row.status,
    durationMs: row.duration_ms,
    phases: row.phases === null ? null : { ...noPhases, ...(JSON.parse(row.phases) as Phases) },
    error: row.error,
    failure: row.failure,
    advice: troubleshootingHint(row.failure),
    requestHeaders,
    requestBody: requestBody && Buffer.from(requestBody).toString(),
    requestBodyBytes: requestBody && Number(bytes ?? requestBody.length + behind),
    transformed: row.request_body !== null,
    signature,
    responseHeaders: responseHeaders(row, isOwner),
    responseBody: responseBody(row, isOwner)?.toString() ?? null,
  }
}

const tags = ['deliveries']

const DetailView = closedObject({
  ...OwnedDeliveryView.properties,
  payload: Type.String({ description: 'The body of each request: its first 64 KiB, as UTF-8' }),
  payloadBytes: Type.Integer({ description: 'The length of the whole body' }),
  attempts: Type.Array(AttemptView, { description: 'The newest hundred' }),
})

/** @throws Problem `not-found` if the text is not a possible id of a delivery */
function readDeliveryId(text: string): number {
  const number = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new Problem('not-found', { detail: 'There is no such delivery.' })
  return number
}

const filters = {
  status: Type.Optional(Type.String({ description: deliveryStatuses.join(', ') })),
  eventType: optionalText('One exact type'),
  since: optionalText('Created at this time or later, ISO 8601'),
  until: optionalText('Created before this time, ISO 8601'),
}

const querystring = Type.Object({
  ...filters,
  ...pageParameters(),
})

/** GET /deliveries, which only admins have. */
export function deliverySearchRoute(app: App, { deliveryLog }: EmittingRouteParts): void {
  app.get(
    '/deliveries',
    route(adminArea.access.read, tags, 'The deliveries of all subscribers, newest first', {
      description:
        'Each page examines a bounded number of deliveries. If few of them match all filters, it has fewer items than `limit`; follow `nextCursor` to search on. With `eventType` the order is that of the events.',
      querystring: Type.Object({
        ...querystring.properties,
        subscriber: optionalText('The id of a subscriber'),
        owner: optionalText('The owner of the subscribers; empty: subscribers without an owner'),
        eventId: optionalText('The id that is sent as `webhook-id`'),
        response: optionalText(
          `The response to the newest attempt: ${responseClasses.join(', ')}; none: no response came`,
        ),
      }),
      response: { 200: pageSchema(OwnedDeliveryView) },
    }),
    async ({ query }) => {
      const page = await deliveryLog.page(readDeliverySearch(query), 'all', readPageRequest(query))
      return viewPage(page, viewDelivery)
    },
  )
}

export function deliveryRoutes(app: App, parts: EmittingRouteParts, area: Area): void {
  logRoutes(app, parts, area)
  replayRoute(app, parts, area)
  bulkReplayRoute(app, parts, area)
}

function logRoutes(app: App, { deliveryLog, subscribers, ...parts }: EmittingRouteParts, area: Area): void {
  app.get(
    `${area.prefix}/subscribers/:id/deliveries`,
    route(area.access.read, tags, "A subscriber's delivery log, newest first", {
      params: IdParams,
      querystring,
      response: { 200: pageSchema(DeliveryView) },
    }),
    async (request) => {
      const { query } = request
      const filter = readDeliveryFilter(query)
      const { id: subscriberId } = await subscriberOf(subscribers, area, request)
      const page = await deliveryLog.page(
        { ...filter, subscriberId },
        area.reach(request),
        readPageRequest(query),
      )
      const seen = seenBy(area, parts)
      return viewPage(page, (entry) => viewDelivery(seen.entry(entry)))
    },
  )
  app.get(
    `${area.prefix}/deliveries/:id`,
    route(area.access.read, tags, 'One delivery with its attempts', {
      params: IdParams,
      response: { 200: DetailView },
    }),
    async (request) => {
      const detail = await deliveryLog.get(readDeliveryId(request.params.id), area.reach(request))
      const { entry, payload, size, attempts } = detail
      const signatureOf = await pastSignatures(parts, detail)
      const isOwner = !area.reachesAll
      const seen = seenBy(area, parts)
      return {
        ...viewDelivery(seen.entry(entry)),
        payload: payload.toString(),
        payloadBytes: size,
        attempts: attempts.map((attempt) =>
          viewAttempt(seen.attempt(entry, attempt), { signature: signatureOf(attempt), detail, isOwner }),
        ),
      }
    },
  )
}

const ReplayBody = closedObject({
  ...filters,
  status: Type.Optional(
    Type.Enum([...deliveryStatuses, 'missing'], {
      description:
        'Default: dead. Pending: deliveries that wait for a later attempt, which is made now. Missing: events from `since` on that the subscriber never got but matches now; `total` is then an upper limit until the job ends.',
    }),
  ),
  dryRun: Type.Optional(Type.Boolean({ description: 'Only count the deliveries' })),
  rate: Type.Optional(
    Type.Number({
      minimum: 0.01,
      maximum: 10_000,
      description: 'The most deliveries per second; default: as fast as the subscriber accepts them',
    }),
  ),
})

function replayRoute(app: App, { deliveryLog, replay, ...parts }: EmittingRouteParts, area: Area): void {
  app.post(
    `${area.prefix}/deliveries/:id/replay`,
    route(area.access.write, tags, 'Resend a delivery with the same event ID; a pending one is sent now', {
      params: IdParams,
      response: { 202: DeliveryView },
    }),
    async (request, reply) => {
      const deliveryId = readDeliveryId(request.params.id)
      await replay.one(deliveryId, area.reach(request), auditOrigin(request))
      const { entry } = await deliveryLog.get(deliveryId, area.reach(request))
      return reply.code(202).send(viewDelivery(seenBy(area, parts).entry(entry)))
    },
  )
}

function bulkReplayRoute(app: App, { replay, subscribers }: EmittingRouteParts, area: Area): void {
  app.post(
    `${area.prefix}/subscribers/:id/replay`,
    route(
      area.access.write,
      tags,
      'Resend many deliveries; without a status, the failed ones. Returns a job',
      {
        description: 'A repeated call with the same filter returns the running job and starts no other.',
        params: IdParams,
        body: ReplayBody,
        response: { 200: TotalView, 202: JobView },
      },
      { optionalBody: true },
    ),
    async (request, reply) => {
      const { body } = request
      const filter = readBodyFilters(() => readReplayFilter(body))
      const { id: subscriberId, status } = await subscriberOf(subscribers, area, request)
      const caller = area.reach(request)
      if (body.dryRun)
        return reply.code(200).send({ total: await replay.count(subscriberId, { filter, caller }) })
      if (status === 'disabled') throw subscriberDisabled()
      const job = await replay.start(
        subscriberId,
        { filter, rate: body.rate ?? null, caller },
        auditOrigin(request),
      )
      return reply.code(202).send(viewJob(job))
    },
  )
}
