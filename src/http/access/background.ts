import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { Problem } from '../../errors.ts'

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

/**
 * The options of a GET that uses something up or issues something: a state, a one-time code, a session. Nobody asked for what a HEAD
 * or a prefetch would do there (RFC 9110, section 9.2.1), and the person's own request would then fail. HEAD is answered 405.
 */
export const actsOnGet = { exposeHeadRoute: false, onRequest: rejectPrefetch() }

function rejectPrefetch(): onRequestAsyncHookHandler {
  // An error, because browsers show a prefetched success to the person later.
  return async ({ headers }) => {
    const purposes = [headers['sec-purpose'], headers['purpose'], headers['x-purpose'], headers['x-moz']]
    if (purposes.some((purpose) => /prefetch|prerender|preview/i.test(String(purpose))))
      throw new Problem('prefetch-rejected')
  }
}
