import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../errors.ts'
import { BodyBudget, bodyLimits, type BodyLimits } from './body-budget.ts'
import { Continuations } from './expect-continue.ts'

/** Makes of the bytes what handlers get as `request.body`. */
export type ParseBody = (
  request: FastifyRequest,
  bytes: Buffer,
  done: (error: Error | null, body?: unknown) => void,
) => void

export type TakeBody = (problem: Problem | null, bytes?: Buffer) => void

declare module 'fastify' {
  interface FastifyInstance {
    bodies: BodyReader
  }
}

/** Bytes, where a route does not say otherwise. */
export const defaultBodyLimit = 1024 * 1024

/** The least that is set aside once a body turns out to come in pieces. */
const leastBuffer = 4 * 1024

/**
 * Reads bodies into memory in proportion to what has come of them. Fastify's own reader keeps every piece as a buffer
 * of its own until the last has come: a megabyte in chunks of one byte then takes half a gigabyte.
 */
export class BodyReader {
  readonly budget: BodyBudget
  readonly #continuations: Continuations
  /** Bodies that were read before the framework had the request. */
  readonly #early = new WeakMap<IncomingMessage, { problem: Problem | null; bytes: Buffer | undefined }>()

  constructor(app: FastifyInstance, limits: Partial<BodyLimits> = {}) {
    this.budget = new BodyBudget({ ...bodyLimits, ...limits })
    this.#continuations = new Continuations(app)
  }

  /** Has the scope's bodies of these media types read, `*` for all that have no reader, and then made into something. */
  parse(scope: FastifyInstance, types: string[], parse: ParseBody, bodyLimit = defaultBodyLimit): void {
    scope.addContentTypeParser(types, (request, _payload, done) => {
      // Nobody is there for it.
      if (request.is404) return done(null)
      const take: TakeBody = (problem, bytes) => {
        if (problem) done(problem)
        else parse(request, bytes!, done)
      }
      const early = this.#early.get(request.raw)
      if (early) take(early.problem, early.bytes)
      else this.read(request.raw, bodyLimit, take)
    })
  }

  /** Answers `done` with a Problem: `body-too-large`, `overloaded`, or `bad-request` when the sender gave up. */
  read(request: IncomingMessage, limit: number, done: TakeBody): void {
    const { budget } = this
    const length = request.headers['content-length']
    const announced = length === undefined ? 0 : Number(length)
    if (announced > limit) return done(tooLarge(limit))
    if (!budget.begin(announced)) return done(overloaded())

    let buffer: Buffer | undefined
    let received = 0
    let held = 0
    let ended = false
    const finish = (problem: Problem | null, bytes?: Buffer): void => {
      if (ended) return
      ended = true
      buffer = undefined
      budget.end(held)
      done(problem, bytes)
    }
    const hold = (capacity: number): boolean => {
      if (!budget.take(capacity - held)) return false
      held = capacity
      return true
    }
    const onData = (chunk: Buffer): void => {
      if (ended) return
      const before = received
      received += chunk.length
      if (received > limit) return finish(tooLarge(limit))
      if (buffer === undefined) {
        // Usually all there is, and nobody else's: the parser made it for us.
        if (!hold(chunk.length)) return finish(overloaded())
        buffer = chunk
        return
      }
      if (received > buffer.length) {
        const capacity = Math.min(announced || limit, Math.max(2 * received, leastBuffer))
        if (!hold(capacity)) return finish(overloaded())
        const larger = Buffer.allocUnsafeSlow(capacity)
        larger.set(buffer.subarray(0, before))
        buffer = larger
      }
      buffer.set(chunk, before)
    }
    const onEnd = (): void => {
      const bytes = buffer ?? Buffer.alloc(0)
      // What is kept is kept without the room that was left.
      finish(null, bytes.length === received ? bytes : Buffer.from(bytes.subarray(0, received)))
    }
    // Nobody may be there to read the answer; it ends the request all the same.
    // Every request is closed in the end, and an error costs as much as the rest of this.
    const onCut = (): void => {
      if (!ended) finish(new Problem('bad-request', { detail: 'The body did not come whole.' }))
    }
    request.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut)
    this.#continuations.continue(request)
  }

  /** Hands what `read` answered on to whoever parses the body of this request. */
  handOn(request: IncomingMessage, problem: Problem | null, bytes?: Buffer): void {
    this.#early.set(request, { problem, bytes })
  }

  /** Has a body sent that something else reads. */
  letCome(request: IncomingMessage): void {
    this.#continuations.continue(request)
  }
}

function tooLarge(limit: number): Problem {
  return new Problem('body-too-large', { detail: `At most ${limit} bytes are taken.` })
}

function overloaded(): Problem {
  return new Problem('overloaded', { retryAfter: 1, detail: 'Too many large bodies are being read.' })
}
