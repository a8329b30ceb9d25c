import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { JobView, TotalView, viewJob } from '../../events/jobs/job.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { readLimit } from '../../paging/limit.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { limitParameter } from '../../paging/parameters.ts'
import type { AttemptsTable } from '../../storage/tables.ts'
import {
  deliveryStatuses,
  readDeliveryFilter,
  readDeliverySearch,
  responseClasses,
} from '../deliveries/delivery-filter.ts'
import type { DeliveryDetail, DeliveryLog } from '../deliveries/delivery-log.ts'
import type { Replay } from '../deliveries/replay.ts'
import type { Subscribers } from '../subscribers/subscribers.ts'
import { AttemptView, viewAttempt, viewAttemptForOwner } from '../views/attempt.ts'
import { DeliveryView, OwnedDeliveryView, viewDelivery, viewOwnedDelivery } from '../views/delivery.ts'
import { adminArea, type Area } from './area.ts'
import { readSubscriberId } from './subscriber-view.ts'

export interface DeliveryRouteParts {
  deliveryLog: DeliveryLog
  replay: Replay
  subscribers: Subscribers
  signaturesOf: (detail: DeliveryDetail) => Promise<(attempt: AttemptsTable) => string | null>
}

const tags = ['deliveries']
const params = Type.Object({ id: Type.String() })

const filters = {
  status: Type.Optional(Type.String({ description: deliveryStatuses.join(', ') })),
  eventType: Type.Optional(Type.String({ description: 'One exact type' })),
  since: Type.Optional(Type.String({ description: 'Created at this time or later, ISO 8601' })),
  until: Type.Optional(Type.String({ description: 'Created before this time, ISO 8601' })),
}
const querystring = Type.Object({
  ...filters,
  limit: limitParameter({ default: 20, max: 100 }),
  cursor: Type.Optional(Type.String({ minLength: 1 })),
})
const DetailView = Type.Object(
  {
    ...OwnedDeliveryView.properties,
    payload: Type.String({ description: 'The body of each request: its first 64 KiB, as UTF-8' }),
    payloadBytes: Type.Integer({ description: 'The length of the whole body' }),
    attempts: Type.Array(AttemptView, { description: 'The newest hundred' }),
  },
  { additionalProperties: false },
)
const ReplayBody = Type.Object(
  {
    ...filters,
    status: Type.Optional(
      Type.Enum(deliveryStatuses, {
        description: 'Default: dead. Pending: deliveries that wait for a later attempt, which is made now.',
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
  },
  { additionalProperties: false },
)

/** GET /deliveries, which only admins have. */
export function deliverySearchRoute(app: App, { deliveryLog }: DeliveryRouteParts): void {
  app.get(
    '/deliveries',
    {
      config: { access: adminArea.access.read },
      schema: {
        tags,
        summary: 'The deliveries of all subscribers, newest first',
        description:
          'Each page examines a bounded number of deliveries. If few of them match all filters, it has fewer items than `limit`; follow `nextCursor` to search on. With `eventType` the order is that of the events.',
        querystring: Type.Object({
          ...querystring.properties,
          subscriber: Type.Optional(Type.String({ description: 'The id of a subscriber' })),
          owner: Type.Optional(
            Type.String({ description: 'The owner of the subscribers; empty: subscribers without an owner' }),
          ),
          eventId: Type.Optional(Type.String({ description: 'The id that is sent as `webhook-id`' })),
          response: Type.Optional(
            Type.String({
              description: `The response to the newest attempt: ${responseClasses.join(', ')}; none: no response came`,
            }),
          ),
        }),
        response: { 200: pageSchema(OwnedDeliveryView) },
      },
    },
    async ({ query }) => {
      const page = await deliveryLog.search({
        filter: readDeliverySearch(query),
        limit: readLimit(query.limit, { default: 20, max: 100 }),
        cursor: query.cursor,
      })
      return viewPage(page, viewOwnedDelivery)
    },
  )
}

export function deliveryRoutes(app: App, parts: DeliveryRouteParts, area: Area): void {
  logRoute(app, parts, area)
  detailRoute(app, parts, area)
  replayRoute(app, parts, area)
  bulkReplayRoute(app, parts, area)
}

function logRoute(
  app: App,
  { deliveryLog, subscribers }: DeliveryRouteParts,
  { prefix, access, reach }: Area,
): void {
  app.get(
    `${prefix}/subscribers/:id/deliveries`,
    {
      config: { access: access.read },
      schema: {
        tags,
        summary: 'The delivery log of a subscriber, newest first',
        params,
        querystring,
        response: { 200: pageSchema(DeliveryView) },
      },
    },
    async (request) => {
      const { params, query } = request
      const filter = readDeliveryFilter(query)
      const { id: subscriberId } = await subscribers.get(readSubscriberId(params.id), reach(request))
      const page = await deliveryLog.list(subscriberId, reach(request), {
        filter,
        limit: readLimit(query.limit, { default: 20, max: 100 }),
        cursor: query.cursor,
      })
      return viewPage(page, viewDelivery)
    },
  )
}

function detailRoute(
  app: App,
  { deliveryLog, signaturesOf }: DeliveryRouteParts,
  { prefix, access, reach, reachesAll }: Area,
): void {
  app.get(
    `${prefix}/deliveries/:id`,
    {
      config: { access: access.read },
      schema: { tags, summary: 'One delivery with its attempts', params, response: { 200: DetailView } },
    },
    async (request) => {
      const detail = await deliveryLog.get(readDeliveryId(request.params.id), reach(request))
      const { entry, payload, size, attempts } = detail
      const signatureOf = await signaturesOf(detail)
      const view = reachesAll ? viewAttempt : viewAttemptForOwner
      return {
        ...viewOwnedDelivery(entry),
        payload: payload.toString(),
        payloadBytes: size,
        attempts: attempts.map((attempt) => view(attempt, signatureOf(attempt))),
      }
    },
  )
}

function replayRoute(
  app: App,
  { deliveryLog, replay }: DeliveryRouteParts,
  { prefix, access, reach }: Area,
): void {
  app.post(
    `${prefix}/deliveries/:id/replay`,
    {
      config: { access: access.write },
      schema: {
        tags,
        summary:
          'Send a delivery again, with the same event id; one that waits for its next attempt is attempted now',
        params,
        response: { 202: DeliveryView },
      },
    },
    async (request, reply) => {
      const deliveryId = readDeliveryId(request.params.id)
      await replay.one(deliveryId, reach(request), auditOrigin(request))
      return reply.code(202).send(viewDelivery((await deliveryLog.get(deliveryId, reach(request))).entry))
    },
  )
}

function bulkReplayRoute(
  app: App,
  { replay, subscribers }: DeliveryRouteParts,
  { prefix, access, reach }: Area,
): void {
  app.post(
    `${prefix}/subscribers/:id/replay`,
    {
      config: { access: access.write, optionalBody: true },
      schema: {
        tags,
        summary: 'Send many deliveries again; without a status, the dead ones. Returns a job',
        description: 'A repeated call with the same filter returns the running job and starts no other.',
        params,
        body: ReplayBody,
        response: { 200: TotalView, 202: JobView },
      },
    },
    async (request, reply) => {
      const { params, body } = request
      const filter = readDeliveryFilter(body)
      const { id: subscriberId, status } = await subscribers.get(readSubscriberId(params.id), reach(request))
      if (body.dryRun) return reply.code(200).send({ total: await replay.count(subscriberId, filter) })
      if (status === 'disabled')
        throw new Problem('conflict', {
          detail: 'The subscriber is disabled: set its status to active first.',
        })
      const job = await replay.start(
        subscriberId,
        { filter, rate: body.rate ?? null, caller: reach(request) },
        auditOrigin(request),
      )
      return reply.code(202).send(viewJob(job))
    },
  )
}

/** @throws Problem `not-found` if the text is not a possible id of a delivery */
function readDeliveryId(text: string): number {
  const number = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new Problem('not-found', { detail: 'There is no such delivery.' })
  return number
}
