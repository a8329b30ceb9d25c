import type { App } from '../../http/app.ts'
import { preflightRoute } from '../../http/responses/preflight-route.ts'
import type { Clients } from '../clients/clients.ts'

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
