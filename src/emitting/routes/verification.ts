import { Type } from 'typebox'
import type { App } from '../../http/app.ts'
import type { Subscribers } from '../subscribers/subscribers.ts'
import { receiversFor } from '../verification/receivers.ts'
import { type Area, subscriberOf } from './area.ts'
import { closedObject, IdParams } from '../../http/schemas/schemas.ts'

const View = closedObject({
  url: Type.String(),
  signing: Type.Union([Type.Literal('v1'), Type.Literal('v1a'), Type.Literal('both')], {
    description: 'The signature of the deliveries. The code verifies `v1`',
  }),
  languages: Type.Array(
    closedObject({
      id: Type.String({ description: 'A stable name: typescript, python, go, …' }),
      name: Type.String(),
      file: Type.String({ description: 'The name under which to save it' }),
      code: Type.String({ description: 'A complete receiver; its first lines say how to run it' }),
    }),
  ),
})

/** Code for the receiver of a subscriber's deliveries. */
export function verificationRoutes(
  app: App,
  { subscribers }: { subscribers: Subscribers },
  area: Area,
): void {
  app.get(
    `${area.prefix}/subscribers/:id/verification`,
    {
      config: { access: area.access.read },
      schema: {
        tags: ['subscribers'],
        summary: 'Receivers in nine languages that verify the signatures',
        params: IdParams,
        response: { 200: View },
      },
    },
    async (request) => {
      const { url, signing } = await subscriberOf(subscribers, area, request)
      return { url, signing, languages: receiversFor(url) }
    },
  )
}
