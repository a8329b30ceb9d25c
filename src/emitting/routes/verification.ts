import { Type } from 'typebox'
import type { App } from '../../http/app.ts'
import { receiversFor } from '../verification/receivers.ts'
import { readRequestOptions } from '../subscribers/request-options.ts'
import { destinationIn } from '../subscribers/destinations.ts'
import { type Area, type EmittingRouteParts, readSubscriberId, subscriberOf } from './area.ts'
import { closedObject, IdParams } from '../../http/schemas/schemas.ts'
import { Problem } from '../../errors.ts'

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
export function verificationRoutes(app: App, { subscribers }: EmittingRouteParts, area: Area): void {
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
      const { url, signing, request: options } = await subscriberOf(subscribers, area, request)
      const prefix = readRequestOptions(options).signatureHeaders === 'svix' ? 'svix' : 'webhook'
      return { url, signing, languages: destinationIn(url) === null ? receiversFor(url, prefix) : [] }
    },
  )
}

/** Seconds for which receivers may cache the keys. */
const maxAge = 300
const JsonWebKey = closedObject({
  kty: Type.String(),
  crv: Type.String(),
  x: Type.String(),
  kid: Type.String(),
  alg: Type.String(),
  use: Type.String(),
})

/** The public keys that verify the requests to a subscriber, as a JWK set (RFC 7517, section 5). */
export function keyRoutes(app: App, { secrets, database, clock }: EmittingRouteParts): void {
  app.get(
    '/.well-known/webhook-keys/:id',
    {
      config: { access: 'public', sends: { always: ['Cache-Control'] } },
      schema: {
        tags: ['subscribers'],
        summary: "A subscriber's public keys for `v1a` and ed25519 signatures",
        params: IdParams,
        response: { 200: closedObject({ keys: Type.Array(JsonWebKey) }) },
      },
    },
    async (request, reply) => {
      const id = readSubscriberId(request.params.id)
      const keys = await secrets.published(database.reader, id, clock.now())
      if (keys.length === 0) throw new Problem('not-found', { detail: 'No public keys are published here.' })
      reply.header('cache-control', `public, max-age=${maxAge}`)
      return { keys }
    },
  )
}
