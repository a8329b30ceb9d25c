import type { FastifyInstance } from 'fastify'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { framingFault } from './framing.ts'

/** Answers a request by itself, or calls `leave`, with nothing answered yet: then the framework answers it. */
export type AnswerDirectly = (request: IncomingMessage, response: ServerResponse, leave: () => void) => void

declare module 'fastify' {
  interface FastifyInstance {
    direct: DirectRoutes
  }
}

/**
 * Routes that are called so often that what the framework does for each request counts. Such a handler answers what is
 * as it should be and leaves everything else, which then takes the ordinary way as if it had just come: the refusals, the
 * errors and their answers are written once. Whatever a handler has found out or counted by then it hands on by itself.
 */
export class DirectRoutes {
  readonly #posts = new Map<string, AnswerDirectly>()

  /** Puts these routes before the framework, which is the only listener of its server until now. */
  constructor(app: FastifyInstance) {
    const { server } = app
    const [framework] = server.listeners('request') as RequestListener[]
    server.removeListener('request', framework!)
    server.on('request', (request: IncomingMessage, response: ServerResponse) =>
      this.#route(request, response, framework!),
    )
  }

  /** POST to exactly this target: with a query string, or written in another way, it takes the ordinary way. */
  post(target: string, answer: AnswerDirectly): void {
    this.#posts.set(target, answer)
  }

  /** From now on everything takes the ordinary way. */
  close(): void {
    this.#posts.clear()
  }

  #route(request: IncomingMessage, response: ServerResponse, framework: RequestListener): void {
    const answer = request.method === 'POST' ? this.#posts.get(request.url!) : undefined
    // The framework answers clients that wait to be told to send the body or ask for another protocol, and refuses what is
    // framed wrongly.
    const { expect, upgrade } = request.headers
    if (answer === undefined || expect !== undefined || upgrade !== undefined || framingFault(request))
      framework(request, response)
    else answer(request, response, () => framework(request, response))
  }
}
