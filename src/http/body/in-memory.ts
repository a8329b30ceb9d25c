import { Problem } from '../../errors.ts'
import type { BodyBudget } from './budget.ts'
import { CountedBody } from './counted-body.ts'
import type { BodySink } from './incoming-request.ts'

export type TakeBody = (problem: Problem | null, bytes?: Buffer) => void

/** The smallest buffer of a body that arrives in several chunks, in bytes. */
const leastBuffer = 4 * 1024

export interface BodyParts {
  /** The Content-Length, or 0 without one. */
  announced: number
  limit: number
  /** Returns the network of the client. */
  network: () => string
  /** Called once with the result. */
  done: TakeBody
}

/** A body that is collected in memory, after `BodyBudget.begin`. Its buffer grows in proportion to the received bytes. */
export class BodyInMemory extends CountedBody implements BodySink {
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

export function tooLarge(limit: number): Problem {
  return new Problem('body-too-large', { detail: `At most ${limit} bytes are taken.` })
}

export function overloaded(): Problem {
  return new Problem('overloaded', { retryAfter: 1, detail: 'Too many large bodies are being read.' })
}
