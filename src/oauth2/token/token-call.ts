import { Type } from 'typebox'
import { optionalText } from '../../http/schemas/schemas.ts'
import type { App } from '../../http/app.ts'
import { preflightRoute } from '../../http/responses/preflight-route.ts'
import type { Clients } from '../clients/clients.ts'

/** The parameters with which a client authenticates in a body (RFC 6749, section 2.3.1; RFC 7521, section 4.2). */
export const clientCredentials = {
  client_id: Type.Optional(Type.String()),
  client_secret: Type.Optional(Type.String()),
  client_assertion: Type.Optional(Type.String()),
  client_assertion_type: Type.Optional(Type.String()),
}

/** The body of a call about one token (RFC 7009, section 2.1; RFC 7662, section 2.1). */
export const TokenCallBody = Type.Object({
  token: Type.Optional(Type.String()),
  token_type_hint: optionalText('Not needed'),
  ...clientCredentials,
})

/** The configuration of a path that pages of registered apps may call. */
export const browserCall = {
  access: 'public',
  ownOrigins: true,
  rateLimit: { max: 300, sharedByProcesses: true },
  sends: { always: ['Vary'], sometimes: ['Access-Control-Allow-Origin'] },
} as const

/**
 * Lets pages of the origins of registered redirect URIs call a path: a client in a browser has no server of its own. Answers
 * the preflight of the path.
 */
export function allowClientOrigins(routes: App, path: string, clients: Clients): void {
  routes.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url !== path) return
    reply.header('vary', 'Origin')
    const { origin } = request.headers
    if (origin !== undefined && (await clients.allowsOrigin(origin)))
      reply.header('access-control-allow-origin', origin)
  })
  preflightRoute(routes, path, { methods: 'POST', headers: 'content-type, authorization' })
}
