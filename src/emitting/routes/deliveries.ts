import { Type } from 'typebox'
import type { App } from '../../http/app.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { pageParameters, readPageRequest } from '../../paging/parameters.ts'
import { readDeliveryFilter, readDeliverySearch, responseClasses } from '../deliveries/delivery-filter.ts'
import { viewAttempt, viewAttemptForOwner } from '../views/attempt.ts'
import { DeliveryView, OwnedDeliveryView, viewDelivery, viewOwnedDelivery } from '../views/delivery.ts'
import { adminArea, type Area, subscriberOf } from './area.ts'
import { filters, type DeliveryRouteParts, tags, DetailView, readDeliveryId } from './delivery-parts.ts'
import { replayRoute, bulkReplayRoute } from './delivery-replays.ts'
import { IdParams, optionalText } from '../../http/schemas/schemas.ts'

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
        summary: 'The delivery log of a subscriber, newest first',
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
