import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../../errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { BodyBudget, bodyLimits, type BodyLimits } from './budget.ts'
import { type BodySink, IncomingRequest } from './incoming-request.ts'
import { CountedBody } from './counted-body.ts'

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

type TakeBody = (problem: Problem | null, bytes?: Buffer) => void

/** The smallest buffer of a body that arrives in several chunks, in bytes. */
const leastBuffer = 4 * 1024

interface BodyParts {
  /** The Content-Length, or 0 without one. */
  announced: number
  limit: number
  /** Returns the network of the client. */
  network: () => string
  /** Called once with the result. */
  done: TakeBody
}

/** A body that is collected in memory, after `BodyBudget.begin`. Its buffer grows in proportion to the received bytes. */
class BodyInMemory extends CountedBody implements BodySink {
  readonly #budget: BodyBudget
  readonly #parts: BodyParts
  #buffer: Buffer | undefined
  #ended = false

  constructor(budget: BodyBudget, parts: BodyParts) {
    super()
    this.#budget = budget
    this.#parts = parts
  }

  data(piece: Buffer): void {
    if (this.#ended) return
    const { limit, announced } = this.#parts
    const before = this.received
    const received = (this.received += piece.length)
    if (received > limit) return this.#finish(tooLarge(limit))
    // A complete body ends at once.
    if (received !== announced) this.#budget.progressed(this)
    if (this.#buffer === undefined) {
      // Usually the only chunk. The parser does not use it again.
      if (this.#hold(piece.length)) this.#buffer = piece
      else this.#finish(overloaded())
      return
    }
    if (received > this.#buffer.length) {
      const capacity = Math.min(announced || limit, Math.max(2 * received, leastBuffer))
      if (!this.#hold(capacity)) return this.#finish(overloaded())
      const larger = Buffer.allocUnsafeSlow(capacity)
      larger.set(this.#buffer.subarray(0, before))
      this.#buffer = larger
    }
    this.#buffer.set(piece, before)
  }

  end(): void {
    const bytes = this.#buffer ?? Buffer.alloc(0)
    // A copy, if the buffer is larger than the body.
    this.#finish(null, bytes.length === this.received ? bytes : Buffer.from(bytes.subarray(0, this.received)))
  }

  cut(): void {
    // Checked before the costly creation of an error.
    if (!this.#ended) this.#finish(new Problem('bad-request', { detail: 'The body did not come whole.' }))
  }

  override network(): string {
    return this.#parts.network()
  }

  override drop(problem: Problem): void {
    if (this.#ended) return
    this.#ended = true
    this.#buffer = undefined
    // After the request that needs the memory, because answering takes longer than dropping.
    setImmediate(() => this.#parts.done(problem))
  }

  #finish(problem: Problem | null, bytes?: Buffer): void {
    if (this.#ended) return
    this.#ended = true
    this.#buffer = undefined
    this.#budget.end(this)
    this.#parts.done(problem, bytes)
  }

  #hold(capacity: number): boolean {
    return this.#budget.take(this, capacity - this.held)
  }
}

function tooLarge(limit: number): Problem {
  return new Problem('body-too-large', { detail: `At most ${limit} bytes are taken.` })
}

function overloaded(): Problem {
  return new Problem('overloaded', { retryAfter: 1, detail: 'Too many large bodies are being read.' })
}
