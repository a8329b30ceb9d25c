import type { Readable } from 'node:stream'
import { type Clock, Period } from '../../runtime/clock.ts'
import { invalidBody, Problem } from '../../errors.ts'
import { type BodyBudget, CountedBody } from '../../http/body/budget.ts'
import { checkOf, validationMessage } from '../../http/schemas/schema-compilers.ts'
import { toProblem } from '../../http/responses/problem-details.ts'
import type { Emitter } from './emitter.ts'
import { type EmittedView, type NewEvent, NewEventBody, readNumbers, viewEmitted } from './event.ts'
import { parseLossless } from '../../json/exact.ts'
import type { Static } from 'typebox'

/** The response to a line of NDJSON: that of a call with this line alone. */
type LineAnswer = { line: number } & (
  | ({ status: 202 } & Static<typeof EmittedView>)
  | { status: number; code: string; detail?: string | undefined; pointer?: string | undefined }
)

/** The most lines of one transaction. */
const mostLines = 500
/**
 * The most milliseconds of one call: less than the server's request time-out, so that the client gets a response instead of a broken
 * connection.
 */
const longestCall = 25_000

export interface NdjsonEventsParts {
  emitter: Pick<Emitter, 'commitEach'>
  clock: Clock
  budget: BodyBudget
  /** The network of the client. */
  network: () => string
  /** Bytes of one line. */
  lineLimit: number
  /** Headers of the deliveries, as JSON. See `passedOn`. */
  headers: string | null
}

/**
 * Emits the events of an NDJSON body as they arrive and yields the responses, one or more lines at a time. The response to a line
 * follows the commit of its event. With back pressure: while the client reads no responses, its body is not read.
 */
export async function* emitNdjson(body: Readable, parts: NdjsonEventsParts): AsyncGenerator<string> {
  const { budget, lineLimit, clock } = parts
  const lines = new Lines(lineLimit, parts.network)
  if (!budget.begin(lines, 0))
    throw new Problem('overloaded', { retryAfter: 1, detail: 'Too many bodies are being read.' })
  const call = new Period()
  call.start(clock.now(), longestCall)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      const complete = lines.dropped ? [] : lines.push(chunk)
      const goesOn = !lines.dropped && budget.take(lines, Math.max(0, lines.buffered - lines.held))
      if (goesOn) budget.progressed(lines)
      // Frees what is not accounted for, but the lines before it are answered.
      else lines.discard()
      for (let from = 0; from < complete.length; from += mostLines) {
        const { answers, over } = await emitLines(complete.slice(from, from + mostLines), parts)
        yield write(...answers)
        if (over) return
      }
      const end = !goesOn ? tooLarge() : call.has(clock.now()) ? undefined : tooLong()
      if (end) {
        yield write(answerTo(lines.number + 1, end))
        return
      }
    }
    const last = lines.take()
    if (lines.dropped) yield write(answerTo(lines.number, tooLarge()))
    else if (last) yield write(...(await emitLines([last], parts)).answers)
  } finally {
    budget.end(lines)
  }
}

const tooLarge = (): Problem => new Problem('overloaded', { detail: 'Too many large bodies are being read.' })

const tooLong = (): Problem =>
  new Problem('request-timeout', {
    detail: `A call may take ${longestCall / 1000} s: send this line and those behind it in another call.`,
  })

/** @returns `over` if the database is unavailable; the remaining lines are then not processed */
async function emitLines(
  lines: readonly Line[],
  parts: NdjsonEventsParts,
): Promise<{ answers: LineAnswer[]; over: boolean }> {
  const events = lines.map((line) => readLine(line, parts))
  let over = false
  const results = await parts.emitter.commitEach(events).catch((error: unknown) => {
    const problem = toProblem(error)
    // An unexpected error ends the response and is logged like any other.
    if (problem.code === 'internal') throw error
    over = true
    return events.map((event) => (event instanceof Problem ? event : problem))
  })
  const answers = results.map((result, index): LineAnswer => {
    const { number: line } = lines[index]!
    if (result instanceof Problem) return answerTo(line, result)
    return Object.assign({ line, status: 202 as const }, viewEmitted(result, events[index] as NewEvent))
  })
  return { answers, over }
}

const check = checkOf(NewEventBody)

function readLine(
  { bytes }: Line,
  { lineLimit, headers }: Pick<NdjsonEventsParts, 'lineLimit' | 'headers'>,
): NewEvent | Problem {
  if (bytes === undefined)
    return new Problem('body-too-large', { detail: `A line may have at most ${lineLimit} bytes.` })
  try {
    const event = parseLossless(bytes)
    readNumbers(event)
    const faults = check(event)
    if (!faults) return { ...(event as NewEvent), headers }
    const pointer = faults[0]?.instancePath ?? ''
    const message = validationMessage(faults, NewEventBody) ?? 'is not of the documented form'
    return invalidBody(pointer, `${pointer || 'The line'} ${message}.`)
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

function answerTo(line: number, { status, code, extras }: Problem): LineAnswer {
  return { line, status, code, detail: extras.detail, pointer: extras.pointer || undefined }
}

function write(...answers: LineAnswer[]): string {
  return answers.map((answer) => `${JSON.stringify(answer)}\n`).join('')
}

/** A line of a body without its line break. Empty lines count in the numbers but are not returned. */
interface Line {
  /** Starts at 1. */
  number: number
  /** `undefined` for a line longer than the limit. */
  bytes: Buffer | undefined
}

const newline = 0x0a
const carriageReturn = 0x0d

/**
 * Splits a body into lines. Buffers at most `limit` bytes of an incomplete line, for which the budget accounts. Has no minimum rate,
 * because the client may have to wait for the database.
 */
class Lines extends CountedBody {
  readonly #limit: number
  #pieces: Buffer[] = []
  #tooLong = false
  /** Buffered bytes of the incomplete line. */
  buffered = 0
  /** Complete lines so far. */
  number = 0
  dropped = false
  override readonly network: () => string
  override readonly endInterval = () => false
  override readonly isSlow = () => false

  /**
   * @param limit bytes of a line
   * @param network of the client
   */
  constructor(limit: number, network: () => string) {
    super()
    this.#limit = limit
    this.network = network
  }

  override drop(): void {
    this.dropped = true
    this.discard()
  }

  push(chunk: Buffer): Line[] {
    const lines: Line[] = []
    let from = 0
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      this.#add(chunk.subarray(from, at))
      const line = this.take()
      if (line) lines.push(line)
      from = at + 1
    }
    this.#add(chunk.subarray(from))
    return lines
  }

  discard(): void {
    this.#pieces = []
    this.buffered = 0
  }

  #add(piece: Buffer): void {
    if (piece.length === 0 || this.#tooLong) return
    if (this.buffered + piece.length > this.#limit) {
      this.#tooLong = true
      return this.discard()
    }
    this.#pieces.push(piece)
    this.buffered += piece.length
  }

  /** Ends a line. At the end of a body without a line break, it is the last one. */
  take(): Line | undefined {
    const [first = Buffer.alloc(0)] = this.#pieces
    const whole = this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : first
    const tooLong = this.#tooLong
    this.discard()
    this.#tooLong = false
    this.number += 1
    if (tooLong) return { number: this.number, bytes: undefined }
    const bytes = whole.at(-1) === carriageReturn ? whole.subarray(0, -1) : whole
    return bytes.length === 0 ? undefined : { number: this.number, bytes }
  }
}
