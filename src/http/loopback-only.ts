import type { FastifyInstance } from 'fastify'
import { Problem } from '../errors.ts'
import { isLoopbackHost } from '../network/loopback.ts'

/**
 * For demo mode, where lists are open and anybody signs in as anybody: refuses requests that were sent to another name
 * than this machine's own. Listening on loopback alone does not keep others out: a page whose name is made to resolve to
 * 127.0.0.1 (DNS rebinding) has its visitor's browser call us, and a reverse proxy or tunnel brings its own name along.
 */
export function refuseOtherHosts(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { host, 'x-forwarded-host': forwarded } = request.headers
    const other = [host, forwarded].flat().find((name) => name !== undefined && !isOurs(name))
    if (other === undefined) done()
    else
      done(new Problem('misdirected-request', { detail: 'In demo mode only this machine itself is served.' }))
  })
}

/** @param names hosts with or without ports; proxies after one another list theirs, separated by commas. */
function isOurs(names: string): boolean {
  return names.split(',').every((name) => isLoopbackHost(name.trim().replace(/:\d+$/, '')))
}
