import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import type { App } from '../../http/app.ts'
import { Secret } from '../subscribers/subscriber-body.ts'
import { type Area, readSubscriberId } from './area.ts'
import { type SubscriberRouteParts, tags, KeysView } from './subscriber-view.ts'
import { closedObject, IdParams } from '../../http/schemas/schemas.ts'

/** Seconds for which an old secret signs after a rotation. */
const defaultOverlap = 86_400

const longestOverlap = 30 * 86_400

export function rotateSecretRoute(app: App, { subscribers }: SubscriberRouteParts, area: Area): void {
  const RotateBody = closedObject({
    overlapSeconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: longestOverlap,
        description: 'Seconds for which the old secret signs as well; default 24 hours',
      }),
    ),
    secret: Secret,
  })
  app.post(
    `${area.prefix}/subscribers/:id/rotate-secret`,
    {
      config: { access: area.access.write, optionalBody: true },
      schema: {
        tags,
        summary: 'Create a new secret, shown only once; both sign until the overlap ends',
        params: IdParams,
        body: RotateBody,
        response: { 200: KeysView },
      },
    },
    async (request) => {
      const { params, body } = request
      const overlap = Math.round((body.overlapSeconds ?? defaultOverlap) * 1000)
      const origin = auditOrigin(request)
      const id = readSubscriberId(params.id)
      return subscribers.rotate(id, area.reach(request), { overlap, secret: body.secret }, origin)
    },
  )
}
