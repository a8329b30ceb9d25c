import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../errors.ts'
import { isLoopbackHost } from '../network/loopback.ts'

/** What proxies add to the requests that they pass on (RFC 7239; RFC 9110, section 7.6.3; and the names in use before them). */
const proxyHeaders = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
] as const

/** What is told to callers that are refused. */
export const openToThisMachine =
  'In demo mode no credential is needed on this machine itself: call it as localhost, 127.0.0.1 or [::1], and not through a proxy (Forwarded, Via, X-Forwarded-*, X-Real-IP).'

/**
 * Whether a request was sent to this machine by a name of its own, and not through a proxy. Listening on loopback alone does not
 * keep others out: a page whose name is made to resolve to 127.0.0.1 (DNS rebinding) has its visitor's browser call us, and a
 * reverse proxy or tunnel on this machine calls us for others. Most proxies send their own address of us as the Host, so
 * that only the headers that they add tell of them.
 */
export function isAddressedToThisMachine({ headers }: FastifyRequest): boolean {
  const { host } = headers
  const isOurs = host === undefined || isLoopbackHost(host.replace(/:\d+$/, ''))
  return isOurs && proxyHeaders.every((name) => headers[name] === undefined)
}

/** For what lets anybody in, such as the identity provider of demo mode: refuses requests to any other name, and through proxies. */
export function refuseOtherHosts(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (isAddressedToThisMachine(request)) done()
    else done(new Problem('misdirected-request', { detail: openToThisMachine }))
  })
}
