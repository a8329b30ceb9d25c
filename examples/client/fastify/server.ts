// An API that verifies access tokens itself: `POSTERN_URL=https://gate.example.com node server.ts`
import Fastify, { type FastifyInstance } from 'fastify'
import { claimsOf, requireToken } from 'postern-client/fastify'
import { createVerifier } from 'postern-client/tokens'

export interface ApiOptions {
  /** The address of Postern. */
  issuer: string
  /** The name of this API: the `audience` of the apps that may call it. */
  audience: string
  /** The origin whose pages may call it from a browser. */
  allowedOrigin?: string | undefined
}

interface Order {
  id: number
  owner: string
  item: string
}

/** Orders, which people read and write with a token of an app. */
export function createApi({ issuer, audience, allowedOrigin }: ApiOptions): FastifyInstance {
  const verifier = createVerifier({ issuer, audience })
  const app = Fastify()
  const orders: Order[] = []

  if (allowedOrigin !== undefined) {
    app.addHook('onRequest', async (_request, reply) => {
      reply.headers({ 'access-control-allow-origin': allowedOrigin, vary: 'Origin' })
    })
    app.options('/*', async (_request, reply) =>
      reply
        .headers({
          'access-control-allow-methods': 'GET, POST',
          'access-control-allow-headers': 'authorization, content-type',
        })
        .code(204)
        .send(),
    )
  }
  app.get('/health', async () => ({ status: 'ok' }))

  app.register(async (guarded) => {
    guarded.addHook('onRequest', requireToken(verifier))
    guarded.get('/orders', (request, reply) => {
      const { sub } = claimsOf(request)
      return reply.send({ data: orders.filter(({ owner }) => owner === sub) })
    })
    guarded.post<{ Body: { item: string } }>('/orders', async (request, reply) => {
      const order = { id: orders.length + 1, owner: claimsOf(request).sub, item: request.body.item }
      orders.push(order)
      return reply.code(201).send(order)
    })
  })
  return app
}

if (import.meta.main) {
  const issuer = process.env['POSTERN_URL'] ?? 'http://127.0.0.1:3000'
  const { AUDIENCE: audience = issuer, ALLOWED_ORIGIN: allowedOrigin } = process.env
  const address = await createApi({ issuer, audience, allowedOrigin }).listen({ port: 4000 })
  console.log(`The API listens at ${address}`)
}
