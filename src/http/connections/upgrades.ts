import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

/**
 * Closes the connection after a request with an Upgrade header. The service supports no upgrade and answers such a request like any
 * other (RFC 9110, section 7.8), but Node stops reading after it and drops the rest of the packet. Closing tells the client which
 * requests were not processed.
 */
export function closeAfterUpgradeRequests({ server }: FastifyInstance): void {
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
  })
}
