import { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../../errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { BodyBudget, bodyLimits, type BodyLimits, CountedBody } from './budget.ts'

/** Makes `request.body` from the bytes. */
type ParseBody = (
  request: FastifyRequest,
  bytes: Buffer,
  done: (error: Error | null, body?: unknown) => void,
) => void

declare module 'fastify' {
  interface FastifyInstance {
    bodies: BodyReader
  }
}

interface BodyReaderParts {
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

/** Receives the body of a request in pieces. Nothing is called after `end` or `cut`. */
interface BodySink {
  /** The sink owns the piece. */
  data(piece: Buffer): void
  /** The body is complete. */
  end(): void
  /** The connection ended or failed before the end of the body. */
  cut(): void
}

/** Replaces a sink that has finished: further pieces are ignored. */
const nowhere: BodySink = { data: () => undefined, end: () => undefined, cut: () => undefined }
const streamEnded = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(IncomingMessage.prototype),
  'readableEnded',
)!

/**
 * A request whose body can go from the parser to a sink, without the events and turns of a stream (docs/adr/0013). It is the
 * `IncomingMessage` of `createServer` (https://nodejs.org/api/http.html#httpcreateserveroptions-requestlistener). The parser passes
 * every piece, and null after the last, to `push` (https://nodejs.org/api/stream.html#readablepushchunk-encoding).
 */
export class IncomingRequest extends IncomingMessage {
  #sink: BodySink | undefined
  /** Whether the stream has received a piece of the body. */
  #begun = false
  #whole = false

  static {
    // TypeScript does not let an accessor override a declared property. Node reads readableEnded to decide whether to keep the
    // parser attached and whether a close is an abort.
    Object.defineProperty(this.prototype, 'readableEnded', {
      configurable: true,
      get(this: IncomingRequest): boolean {
        return this.#whole || (streamEnded.get!.call(this) as boolean)
      },
    })
  }

  /**
   * Gives the body to the sink instead of the stream. Answers false, and does nothing, when the stream has a part of it already or
   * nothing more will come: then the stream is to be read.
   */
  giveBody(sink: BodySink): boolean {
    if (this.#begun || this.#sink || this.destroyed) return false
    this.#sink = sink
    return true
  }

  override push(piece: Buffer | null, encoding?: BufferEncoding): boolean {
    if (this.#sink === undefined) {
      this.#begun = true
      return super.push(piece, encoding)
    }
    if (piece === null) {
      this.#whole = true
      this.#last().end()
    } else this.#sink.data(piece)
    // Never full: a sink takes what comes, or passes it over.
    return true
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (this.#sink && !this.#whole) this.#last().cut()
    super._destroy(error, callback)
  }

  #last(): BodySink {
    const sink = this.#sink!
    this.#sink = nowhere
    return sink
  }
}
