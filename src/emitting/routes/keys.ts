import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { closedObject, IdParams } from '../../http/schemas/schemas.ts'
import { readSubscriberId } from './area.ts'

export interface KeyRouteParts {
  publishedKeysOf: (
    subscriberId: string,
  ) => Promise<{ kty: string; crv: string; x: string; kid: string; alg: string; use: string }[]>
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
export function keyRoutes(app: App, { publishedKeysOf }: KeyRouteParts): void {
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
      const keys = await publishedKeysOf(readSubscriberId(request.params.id))
      if (keys.length === 0) throw new Problem('not-found', { detail: 'No public keys are published here.' })
      reply.header('cache-control', `public, max-age=${maxAge}`)
      return { keys }
    },
  )
}
