import type { FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Pages call it by themselves, so that a call says nothing about a person. */
    background?: true
  }
}

/**
 * Whether a page makes the call without a person, as an open dashboard does all day. Such a call is no use of the session: otherwise a
 * page that somebody left open would keep its session from ending. A page says so in `Postern-Background`, except where the route says
 * it already. Only reading is believed.
 */
export function isBackground({ method, headers, routeOptions }: FastifyRequest): boolean {
  if (routeOptions.config.background) return true
  return (method === 'GET' || method === 'HEAD') && headers['postern-background'] !== undefined
}
