import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

/**
 * Requests that announce a body and wait to be told to send it (RFC 9110, section 10.1.1). Node tells all of them to go
 * on before anything is known; here they are told when the body is about to be read, so that what is refused for its
 * length, its credentials or for want of room is never sent.
 */
export class Continuations {
  readonly #waiting = new WeakMap<IncomingMessage, ServerResponse>()

  readonly #app: FastifyInstance

  constructor(app: FastifyInstance) {
    const { server } = (this.#app = app)
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      this.#waiting.set(request, response)
      // Unless it goes on: nobody knows whether the body comes after the answer.
      response.setHeader('connection', 'close')
      server.emit('request', request, response)
    })
    // Other expectations may be passed over. Node would answer 417 by itself, past everything that holds for answers.
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      server.emit('request', request, response)
    })
  }

  /** Tells the client to send the body, if it waits for that. */
  continue(request: IncomingMessage): void {
    if (request.headers.expect === undefined) return
    const response = this.#waiting.get(request)
    if (!response || response.headersSent) return
    if (request.headers.upgrade === undefined && !this.#app.closing.begun) response.removeHeader('connection')
    response.writeContinue()
  }
}
