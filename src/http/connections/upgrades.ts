import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

/**
 * There is nothing to upgrade to, so a request that asks for it is answered like any other (RFC 9110, section 7.8). But
 * Node stops reading behind it and drops what had come in the same packet, after which the connection waits for an answer
 * that nobody gives: it is closed, so that the client knows which requests were not heard.
 */
export function closeAfterUpgradeRequests({ server }: FastifyInstance): void {
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
  })
}
