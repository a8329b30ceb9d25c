import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { App } from '../../http/app.ts'
import {
  publicDocument,
  publicDocumentHeaders,
  publicDocumentPreflights,
} from '../../http/responses/cross-origin.ts'
import { jwksMaxAge, type SigningKeys } from './signing-keys.ts'

const path = '/.well-known/jwks.json'

/** GET /.well-known/jwks.json: the public keys for verifiers of access tokens, pages of other origins included. */
export function jwksRoutes(app: App, signingKeys: SigningKeys): void {
  publicDocumentPreflights(app, path)
  app.get(
    path,
    {
      config: { ...publicDocument, sends: { always: ['ETag', ...publicDocument.sends.always] } },
      schema: {
        tags: ['sign-in'],
        summary: 'The public keys of access tokens (RFC 7517)',
        response: {
          200: Type.Object({ keys: Type.Array(Type.Object({}, { additionalProperties: true })) }),
          304: Type.Null({ description: 'The keys match If-None-Match' }),
        },
      },
    },
    async (request, reply) => {
      const { keys, tag } = await signingKeys.jwks()
      const etag = `"${tag}"`
      reply.headers({
        // Bounds how long other verifiers take a withdrawn key: without must-revalidate a cache may serve an old answer while
        // this service is out of reach (RFC 9111, section 5.2.2.2).
        'cache-control': `public, max-age=${jwksMaxAge}, must-revalidate`,
        etag,
        ...publicDocumentHeaders,
      })
      const known = request.headers['if-none-match']?.split(',').map((one) => one.trim().replace(/^W\//, ''))
      if (known?.includes(etag) || known?.includes('*')) return notModified(reply)
      return reply.send({ keys })
    },
  )
}

/** Its schema has no body, so `send()` has no argument. */
function notModified(reply: FastifyReply): FastifyReply {
  return reply.code(304).send()
}
