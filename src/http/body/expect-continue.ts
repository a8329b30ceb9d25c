import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

declare module 'http' {
  interface IncomingMessage {
    /** Set if the client waits for the status 100 before it sends the body: call it before the body is read. */
    sendContinue?: () => void
  }
}

/**
 * Handles requests with `Expect: 100-continue` (RFC 9110, section 10.1.1). Node would answer all of them with 100 before anything
 * is known. Here they get it when their body is about to be read, so that a body that is refused for its length, its credentials
 * or a lack of memory is never sent.
 */
export function continueLate({ server, closing }: Pick<FastifyInstance, 'server' | 'closing'>): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.sendContinue = () => {
      if (response.headersSent) return
      if (request.headers.upgrade === undefined && !closing.begun) response.removeHeader('connection')
      response.writeContinue()
    }
    // Without the 100, the server cannot know whether the body follows the answer.
    response.setHeader('connection', 'close')
    server.emit('request', request, response)
  })
  // Other expectations may be ignored. Node would answer 417 by itself, without the headers of other answers.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response)
  })
}
