import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../errors.ts'
import { isLoopbackHost } from '../network/loopback.ts'

/**
 * Whether a request was sent to this machine by a name of its own. Listening on loopback alone does not keep others out:
 * a page whose name is made to resolve to 127.0.0.1 (DNS rebinding) has its visitor's browser call us, and a reverse
 * proxy or tunnel brings its own name along.
 */
export function isAddressedToThisMachine({ headers }: FastifyRequest): boolean {
  const { host, 'x-forwarded-host': forwarded } = headers
  return [host, forwarded].flat().every((names) => names === undefined || isOurs(names))
}

/** For what lets anybody in, such as the identity provider of demo mode: refuses requests to any other name. */
export function refuseOtherHosts(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (isAddressedToThisMachine(request)) done()
    else
      done(new Problem('misdirected-request', { detail: 'In demo mode only this machine itself is served.' }))
  })
}

/** @param names hosts with or without ports; proxies after one another list theirs, separated by commas. */
function isOurs(names: string): boolean {
  return names.split(',').every((name) => isLoopbackHost(name.trim().replace(/:\d+$/, '')))
}
