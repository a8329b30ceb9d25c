import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { JobView, TotalView, viewJob } from '../../events/jobs/job.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { readBodyFilters } from '../../http/requests/body-filters.ts'
import { deliveryStatuses, readDeliveryFilter } from '../deliveries/delivery-filter.ts'
import { DeliveryView, viewDelivery } from '../views/delivery.ts'
import { type Area, subscriberOf } from './area.ts'
import { filters, type DeliveryRouteParts, tags, readDeliveryId } from './delivery-parts.ts'
import { closedObject, IdParams } from '../../http/schemas/schemas.ts'

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

export function replayRoute(app: App, { deliveryLog, replay }: DeliveryRouteParts, area: Area): void {
  app.post(
    `${area.prefix}/deliveries/:id/replay`,
    {
      config: { access: area.access.write },
      schema: {
        tags,
        summary:
          'Send a delivery again, with the same event id; one that waits for its next attempt is attempted now',
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

export function bulkReplayRoute(app: App, { replay, subscribers }: DeliveryRouteParts, area: Area): void {
  app.post(
    `${area.prefix}/subscribers/:id/replay`,
    {
      config: { access: area.access.write, optionalBody: true },
      schema: {
        tags,
        summary: 'Send many deliveries again; without a status, the dead ones. Returns a job',
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
