import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../../runtime/clock.ts'
import { BodyBudget, bodyLimits, type BodyLimits } from './budget.ts'
import { BodyInMemory, overloaded, tooLarge, type TakeBody } from './in-memory.ts'

/** Makes of the bytes what handlers get as `request.body`. */
export type ParseBody = (
  request: FastifyRequest,
  bytes: Buffer,
  done: (error: Error | null, body?: unknown) => void,
) => void

declare module 'fastify' {
  interface FastifyInstance {
    bodies: BodyReader
  }
}

export interface BodyReaderParts {
  clock: Clock
  /** Of the client (client-address.ts). */
  networkOf: (request: IncomingMessage) => string
  limits?: Partial<BodyLimits>
}

/** Bytes, where a route does not say otherwise. */
export const defaultBodyLimit = 1024 * 1024

/**
 * Reads bodies into memory in proportion to what has come of them. Fastify's own reader keeps every piece as a buffer
 * of its own until the last has come: a megabyte in chunks of one byte then takes half a gigabyte.
 */
export class BodyReader {
  readonly budget: BodyBudget
  /** The network of a request's client. */
  readonly networkOf: (request: IncomingMessage) => string

  constructor(app: FastifyInstance, { clock, networkOf, limits = {} }: BodyReaderParts) {
    this.budget = new BodyBudget({ ...bodyLimits, ...limits }, clock)
    this.networkOf = networkOf
    app.addHook('onClose', async () => this.budget.close())
  }

  /** Has the scope's bodies of these media types read, `*` for all that have no reader, and then made into something. */
  parse(scope: FastifyInstance, types: string[], parse: ParseBody, bodyLimit = defaultBodyLimit): void {
    scope.addContentTypeParser(types, (request, _payload, done) => {
      // Nobody is there for it.
      if (request.is404) return done(null)
      this.read(request.raw, bodyLimit, (problem, bytes) => {
        if (problem) done(problem)
        else parse(request, bytes!, done)
      })
    })
  }

  /** Answers `done` with a Problem: `body-too-large`, `overloaded`, `request-timeout` when the body came too slowly, or `bad-request`
   * when the sender gave up. */
  read(request: IncomingMessage, limit: number, done: TakeBody): void {
    const length = request.headers['content-length']
    const announced = length === undefined ? 0 : Number(length)
    if (announced > limit) return done(tooLarge(limit))
    const network = (): string => this.networkOf(request)
    const body = new BodyInMemory(this.budget, { announced, limit, network, done })
    if (!this.budget.begin(body, announced)) return done(overloaded())
    readStream(request, body)
    request.sendContinue?.()
  }
}

function readStream(request: IncomingMessage, body: BodyInMemory): void {
  // A destroyed stream emits no more events.
  if (request.destroyed) return body.cut()
  const cut = (): void => body.cut()
  request
    .on('data', (piece: Buffer) => body.data(piece))
    .on('end', () => body.end())
    .on('error', cut)
    .on('close', cut)
}
