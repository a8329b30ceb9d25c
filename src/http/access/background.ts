import type { FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Pages call it by themselves, so that a call says nothing about a person. */
    background?: true
  }
}

/**
 * Whether a page makes this call by itself, as an open dashboard does all day. Such a call does not count as use of the session:
 * otherwise an abandoned page would keep its session alive. The page sends the header `Postern-Background`; routes that only pages
 * call by themselves have `background` in their configuration. The header has an effect on GET and HEAD only.
 */
export function isBackground({ method, headers, routeOptions }: FastifyRequest): boolean {
  if (routeOptions.config.background) return true
  return (method === 'GET' || method === 'HEAD') && headers['postern-background'] !== undefined
}
