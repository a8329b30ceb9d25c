import { Type } from 'typebox'
import { type App, route } from '../../http/app.ts'
import { readDeliveryFilter } from '../deliveries/delivery-log.ts'
import { byHour, hour, summarize, summaryFields } from '../subscribers/health.ts'
import { type Area, type EmittingRouteParts, subscriberOf } from './area.ts'
import { closedObject, DateTime, IdParams, optionalText } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'

const day = 24 * hour
/** The default and the longest period of one response. */
const [usual, longest] = [7 * day, 31 * day]

const HealthView = closedObject({
  since: DateTime,
  until: DateTime,
  ...summaryFields,
  hours: Type.Array(closedObject({ hour: DateTime, ...summaryFields }), {
    description: 'The hours with attempts, oldest first',
  }),
})

export function healthRoutes(app: App, { health, subscribers, clock }: EmittingRouteParts, area: Area): void {
  app.get(
    `${area.prefix}/subscribers/:id/health`,
    route(area.access.read, ['subscribers'], 'Attempts and their durations by hour', {
      params: IdParams,
      querystring: Type.Object({
        since: optionalText('The first hour, as a time in ISO 8601; default: seven days before `until`'),
        until: optionalText('ISO 8601; default: now. The period is at most 31 days'),
      }),
      response: { 200: HealthView },
    }),
    async (request) => {
      const asked = readDeliveryFilter(request.query)
      const { id } = await subscriberOf(subscribers, area, request)
      const until = asked.until ?? clock.now()
      const since = Math.max(asked.since ?? until - usual, until - longest)
      const from = Math.floor(since / hour) * hour
      const rows = await health.read([id], from, until)
      return {
        since: isoTime(from),
        until: isoTime(until),
        ...summarize(rows),
        hours: byHour(rows).map(({ hour: begins, ...counts }) =>
          Object.assign({ hour: isoTime(begins) }, counts),
        ),
      }
    },
  )
}
