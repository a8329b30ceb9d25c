import { Type } from 'typebox'
import type { App } from '../../http/app.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { pageParameters, readPageRequest } from '../../paging/parameters.ts'
import {
  deliveryStatuses,
  readDeliveryFilter,
  readDeliverySearch,
  responseClasses,
} from '../deliveries/delivery-filter.ts'
import { viewAttempt, viewAttemptForOwner } from '../views/attempt.ts'
import { DeliveryView, OwnedDeliveryView, viewDelivery, viewOwnedDelivery } from '../views/delivery.ts'
import { adminArea, type Area, subscriberOf } from './area.ts'
import { type DeliveryRouteParts, DetailView, filters, readDeliveryId, tags } from './delivery-parts.ts'
import { closedObject, IdParams, optionalText } from '../../http/schemas/schemas.ts'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { JobView, TotalView, viewJob } from '../../events/jobs/job.ts'
import { Problem } from '../../errors.ts'
import { readBodyFilters } from '../../http/requests/body-filters.ts'

const querystring = Type.Object({
  ...filters,
  ...pageParameters(),
})

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
          subscriber: optionalText('The id of a subscriber'),
          owner: optionalText('The owner of the subscribers; empty: subscribers without an owner'),
          eventId: optionalText('The id that is sent as `webhook-id`'),
          response: optionalText(
            `The response to the newest attempt: ${responseClasses.join(', ')}; none: no response came`,
          ),
        }),
        response: { 200: pageSchema(OwnedDeliveryView) },
      },
    },
    async ({ query }) => {
      const page = await deliveryLog.search({
        filter: readDeliverySearch(query),
        ...readPageRequest(query),
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

function logRoute(app: App, { deliveryLog, subscribers }: DeliveryRouteParts, area: Area): void {
  app.get(
    `${area.prefix}/subscribers/:id/deliveries`,
    {
      config: { access: area.access.read },
      schema: {
        tags,
        summary: "A subscriber's delivery log, newest first",
        params: IdParams,
        querystring,
        response: { 200: pageSchema(DeliveryView) },
      },
    },
    async (request) => {
      const { query } = request
      const filter = readDeliveryFilter(query)
      const { id: subscriberId } = await subscriberOf(subscribers, area, request)
      const page = await deliveryLog.list(subscriberId, area.reach(request), {
        filter,
        ...readPageRequest(query),
      })
      return viewPage(page, viewDelivery)
    },
  )
}

function detailRoute(app: App, { deliveryLog, signaturesOf }: DeliveryRouteParts, area: Area): void {
  app.get(
    `${area.prefix}/deliveries/:id`,
    {
      config: { access: area.access.read },
      schema: {
        tags,
        summary: 'One delivery with its attempts',
        params: IdParams,
        response: { 200: DetailView },
      },
    },
    async (request) => {
      const detail = await deliveryLog.get(readDeliveryId(request.params.id), area.reach(request))
      const { entry, payload, size, attempts } = detail
      const signatureOf = await signaturesOf(detail)
      const view = area.reachesAll ? viewAttempt : viewAttemptForOwner
      return {
        ...viewOwnedDelivery(entry),
        payload: payload.toString(),
        payloadBytes: size,
        attempts: attempts.map((attempt) => view(attempt, signatureOf(attempt))),
      }
    },
  )
}

const ReplayBody = closedObject({
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
})

function replayRoute(app: App, { deliveryLog, replay }: DeliveryRouteParts, area: Area): void {
  app.post(
    `${area.prefix}/deliveries/:id/replay`,
    {
      config: { access: area.access.write },
      schema: {
        tags,
        summary: 'Resend a delivery with the same event ID; a pending one is sent now',
        params: IdParams,
        response: { 202: DeliveryView },
      },
    },
    async (request, reply) => {
      const deliveryId = readDeliveryId(request.params.id)
      await replay.one(deliveryId, area.reach(request), auditOrigin(request))
      const { entry } = await deliveryLog.get(deliveryId, area.reach(request))
      return reply.code(202).send(viewDelivery(entry))
    },
  )
}

function bulkReplayRoute(app: App, { replay, subscribers }: DeliveryRouteParts, area: Area): void {
  app.post(
    `${area.prefix}/subscribers/:id/replay`,
    {
      config: { access: area.access.write, optionalBody: true },
      schema: {
        tags,
        summary: 'Resend many deliveries; without a status, the failed ones. Returns a job',
        description: 'A repeated call with the same filter returns the running job and starts no other.',
        params: IdParams,
        body: ReplayBody,
        response: { 200: TotalView, 202: JobView },
      },
    },
    async (request, reply) => {
      const { body } = request
      const filter = readBodyFilters(() => readDeliveryFilter(body))
      const { id: subscriberId, status } = await subscriberOf(subscribers, area, request)
      const caller = area.reach(request)
      if (body.dryRun)
        return reply.code(200).send({ total: await replay.count(subscriberId, { filter, caller }) })
      if (status === 'disabled')
        throw new Problem('conflict', {
          detail: 'The subscriber is disabled: set its status to active first.',
        })
      const job = await replay.start(
        subscriberId,
        { filter, rate: body.rate ?? null, caller },
        auditOrigin(request),
      )
      return reply.code(202).send(viewJob(job))
    },
  )
}
