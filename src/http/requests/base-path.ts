import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    /** What the paths of this service begin with for its clients: empty, or such as `/gate`. Routes are declared without it. */
    basePath: string
  }
}

declare module 'http' {
  interface IncomingMessage {
    /** The request target as it came, if the base path was removed from it. Express sets the same property. */
    originalUrl?: string
  }
}

/** The path of a public address, without a slash at its end: empty for an origin. */
export function basePathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/(?<!\/)\/+$/, '')
}

/** Whether a request target is the base path or below it. */
export function isBelow(basePath: string, target: string): boolean {
  return target.startsWith(basePath) && /^[/?]?$/.test(target.charAt(basePath.length))
}

/**
 * Removes the base path from request targets before they are routed. Targets without it are served too, so that probes can
 * call the service directly.
 */
export function removeBasePath(app: FastifyInstance, basePath: string): void {
  app.decorate('basePath', basePath)
  if (basePath === '') return
  app.server.prependListener('request', (request: IncomingMessage) => {
    const target = request.url ?? ''
    if (!isBelow(basePath, target)) return
    const rest = target.slice(basePath.length)
    request.originalUrl = target
    request.url = rest.startsWith('/') ? rest : `/${rest}`
  })
}
