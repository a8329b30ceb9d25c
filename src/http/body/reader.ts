import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../../errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { BodyBudget, bodyLimits, type BodyLimits } from './budget.ts'
import { BodyInMemory, overloaded, tooLarge, type TakeBody } from './in-memory.ts'
import { IncomingRequest } from './incoming-request.ts'

/** Makes `request.body` from the bytes. */
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
  /** Returns the network of the client. */
  networkOf: (request: IncomingMessage) => string
  limits?: Partial<BodyLimits>
}

/** Bytes of a body that is read after its sender was authenticated. */
export const defaultBodyLimit = 1024 * 1024

/** Bytes of a body that anybody may send. The largest field of OAuth is an assertion or an id_token. */
export const anonymousBodyLimit = 32 * 1024

/**
 * Reads bodies into memory in proportion to the received bytes. Fastify's own reader keeps each chunk as a buffer until the last one
 * arrives: a megabyte in chunks of one byte then takes half a gigabyte.
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

  /**
   * Reads and parses the scope's bodies of these media types; `*` stands for all types without a parser.
   * @param bodyLimit default: by the access of the route
   */
  parse(scope: FastifyInstance, types: string[], parse: ParseBody, bodyLimit?: number): void {
    scope.addContentTypeParser(types, (request, _payload, done) => {
      // No route reads it.
      if (request.is404) return done(null)
      const coding = request.headers['content-encoding']
      if (coding !== undefined && !/^(identity)?$/i.test(coding)) return done(unsupportedCoding(coding))
      const isPublic = request.routeOptions.config.access === 'public'
      const limit = bodyLimit ?? (isPublic ? anonymousBodyLimit : defaultBodyLimit)
      this.read(request.raw, limit, (problem, bytes) => {
        if (problem) done(problem)
        else parse(request, bytes!, done)
      })
    })
  }

  /**
   * Reads a body. `done` gets a Problem if that fails: `body-consumed` if another program read it before, `body-too-large`, `overloaded`, `request-timeout` for a slow body, or
   * `bad-request` if the sender disconnected.
   */
  read(request: IncomingMessage, limit: number, done: TakeBody): void {
    const length = request.headers['content-length']
    const announced = length === undefined ? 0 : Number(length)
    if (announced > limit) return done(tooLarge(limit))
    const network = (): string => this.networkOf(request)
    if (!(request instanceof IncomingRequest) && request.readableDidRead)
      return done(new Problem('body-consumed'))
    const body = new BodyInMemory(this.budget, { announced, limit, network, done })
    if (!this.budget.begin(body, announced)) return done(overloaded())
    if (!(request instanceof IncomingRequest && request.giveBody(body))) readStream(request, body)
    request.sendContinue?.()
  }
}

/** Bodies are never decompressed: a small one could become very large (RFC 9110, section 15.5.16). */
function unsupportedCoding(coding: string): Problem {
  const detail = `Bodies with \`Content-Encoding: ${coding.slice(0, 50)}\` are not read.`
  return new Problem('unsupported-media-type', { detail, advice: 'Send the body without a content coding.' })
}

/** Needed when pieces arrived while the guard waited. */
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
