import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../../errors.ts'
import { hostnameOf, isLoopbackHost } from '../../network/loopback.ts'
import { clientIp } from '../limits/client-address.ts'

/** The headers that proxies add (RFC 7239; RFC 9110, section 7.6.3; and the names in use before them). */
const proxyHeaders = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
] as const

/** The detail for refused callers. */
export const openToThisMachine =
  'In demo mode no credential is needed on this machine itself: call it from here as localhost, 127.0.0.1 or [::1], and not through a proxy (Forwarded, Via, X-Forwarded-*, X-Real-IP).'

/**
 * Whether a request comes from this machine, names it in its Host header and did not come through a proxy. Listening on loopback does
 * not keep others out: with DNS rebinding, a page makes its visitor's browser call 127.0.0.1, and a reverse proxy or tunnel on this
 * machine forwards calls of others. Most proxies replace the Host, so only the headers that they add reveal them. A program that
 * mounts the service may listen on other addresses, where a client writes any Host.
 */
export function isAddressedToThisMachine(request: FastifyRequest): boolean {
  const { headers } = request
  const { host } = headers
  if (!isLoopbackHost(clientIp(request))) return false
  const isOurs = host === undefined || isLoopbackHost(hostnameOf(host))
  return isOurs && proxyHeaders.every((name) => headers[name] === undefined)
}

/** For routes without a credential, such as the identity provider of demo mode: refuses other hosts and proxies. */
export function refuseOtherHosts(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (isAddressedToThisMachine(request)) done()
    else done(new Problem('misdirected-request', { detail: openToThisMachine }))
  })
}
