import type { App } from '../../http/app.ts'
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
  routes.options(
    path,
    { config: { access: 'public', ownOrigins: true }, schema: { hide: true } },
    async (_request, reply) =>
      reply
        .headers({
          'access-control-allow-methods': 'POST',
          'access-control-allow-headers': 'content-type, authorization',
          'access-control-max-age': '600',
        })
        .code(204)
        .send(),
  )
}
