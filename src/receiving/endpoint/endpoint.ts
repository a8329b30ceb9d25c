import { Problem, type ProblemCode } from '../../errors.ts'
import { toProblem } from '../../http/responses/problem-details.ts'
import { rawAnswer, type RawAnswer, type RawCall } from '../../http/raw/call.ts'
import type { Acceptor } from './acceptor.ts'
import type { Delivered, Evaluate } from './evaluate.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import type { NoteRejected } from '../rejections/log.ts'
import { reasonOf, type Reason } from '../rejections/reasons.ts'
import type { Reply, Scheme } from '../schemes/scheme.ts'

/** The most requests of one address in a minute. It is high, because senders deliver in bursts, and all are verified. */
const requestsPerMinute = 60_000

export type Outcome = 'accepted' | 'answered' | Reason

export interface EndpointParts {
  source: string
  evaluate: Evaluate
  acceptor: Acceptor
  /** Bytes. */
  bodyLimit: number
  /** The public address, if the setting BASE_URL gives it. */
  baseUrl: string | undefined
  count: (outcome: Outcome) => void
  /** Counts an accepted webhook that no handler takes. */
  countUnhandled: () => void
  /** Observes the milliseconds from the request's headers to its acknowledgement. */
  observe: (ms: number) => void
  noteRejected: NoteRejected
  /** The level of the log line for each webhook. In production, request log and metrics are enough. */
  logLevel: 'info' | 'debug'
}

const received = rawAnswer(200, '{"received":true}', { 'content-type': 'application/json; charset=utf-8' })
const invalidSignature = rawAnswer(401, 'invalid signature', { 'content-type': 'text/plain; charset=utf-8' })

/** The reasons for refusals before the body is read, when the sender is not verified yet. */
const unreadReasons: Partial<Record<ProblemCode, Reason>> = {
  'body-too-large': 'too-large',
  'request-timeout': 'too-slow',
  overloaded: 'overloaded',
  'too-many-requests': 'limited',
}

/** Answers all requests of one source. */
export class WebhookEndpoint {
  readonly #parts: EndpointParts

  constructor(parts: EndpointParts) {
    this.#parts = parts
  }

  /** Verifies, stores and acknowledges a webhook. */
  async receive(call: RawCall): Promise<RawAnswer> {
    const { evaluate, baseUrl, count, observe } = this.#parts
    const rawBody = await this.#readBody(call)
    const { headers, url } = call.request
    const evaluation = await evaluate({ rawBody, headers, url: `${baseUrl ?? call.baseUrl}${url}` })
    if ('answer' in evaluation) {
      count('answered')
      return toAnswer(evaluation.answer)
    }
    if (evaluation.rate) call.sendLimit(evaluation.rate)
    if ('refused' in evaluation) {
      this.#reject(evaluation.refused, evaluation.detail, call, rawBody)
      if (evaluation.problem) throw evaluation.problem
      return invalidSignature
    }
    try {
      await this.#parts.acceptor.add(evaluation.event)
    } catch (error) {
      const { code, message } = toProblem(error)
      const reason = code === 'overloaded' || code === 'stopping' ? 'overloaded' : 'unavailable'
      this.#reject(reason, message, call, rawBody)
      throw error
    }
    this.#countAccepted(evaluation.event)
    observe(call.elapsed)
    const { type, eventId, status } = evaluation.event
    const message =
      status === 'processed' ? 'webhook accepted: no handler matches its type' : 'webhook accepted'
    this.#log(call, message, { type, eventId })
    return evaluation.reply ? toAnswer(evaluation.reply) : received
  }

  /**
   * Verifies and stores a sample that this service has signed.
   * @throws Problem with the reason if it is refused; what storing throws
   */
  async receiveSample(delivered: Delivered): Promise<IncomingEvent> {
    const { evaluate, acceptor } = this.#parts
    const evaluation = await evaluate(delivered)
    if ('answer' in evaluation)
      throw new Problem('unprocessable', {
        detail: 'The source takes the sample for a check of its address.',
      })
    if ('refused' in evaluation)
      throw evaluation.problem ?? new Problem('unprocessable', { detail: evaluation.detail })
    await acceptor.add(evaluation.event)
    this.#countAccepted(evaluation.event)
    return evaluation.event
  }

  /** Answers the challenge by which a sender verifies the address. */
  async verifyAddress(call: RawCall, ask: NonNullable<Scheme['ask']>, now: number): Promise<RawAnswer> {
    call.takeFromLimit()
    const { url = '', headers } = call.request
    const query = new URLSearchParams(/\?(.*)$/s.exec(url)?.[1])
    const result = ask({ query, headers, now })
    if ('answer' in result) {
      this.#parts.count('answered')
      return toAnswer(result.answer)
    }
    this.#reject(reasonOf(result), result.detail, call)
    if (result.rejected === 'malformed') throw new Problem('bad-request', { detail: result.detail })
    return invalidSignature
  }

  #countAccepted({ status }: IncomingEvent): void {
    const { count, countUnhandled } = this.#parts
    count('accepted')
    if (status === 'processed') countUnhandled()
  }

  async #readBody(call: RawCall): Promise<Buffer> {
    try {
      call.takeFromLimit(requestsPerMinute)
      return await call.readBody(this.#parts.bodyLimit)
    } catch (error) {
      const { code, message } = toProblem(error)
      const reason = unreadReasons[code]
      if (reason !== undefined) this.#reject(reason, message, call)
      throw error
    }
  }

  #reject(reason: Reason, detail: string, call: RawCall, body?: Uint8Array): void {
    const { count, noteRejected } = this.#parts
    count(reason)
    noteRejected(reason, detail, call, body)
    this.#log(call, 'webhook rejected', { reason, detail })
  }

  #log(call: RawCall, message: string, fields: Readonly<Record<string, string>>): void {
    const { source, logLevel } = this.#parts
    if (logLevel === 'info' || call.isDebugged) call.log[logLevel]({ source, ...fields }, message)
  }
}

function toAnswer({ status, body, contentType }: Reply): RawAnswer {
  return rawAnswer(status, body, { 'content-type': contentType })
}
