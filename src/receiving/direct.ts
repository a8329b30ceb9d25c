import type { FastifyBaseLogger } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BodyReader } from '../http/body-reader.ts'
import type { AnswerDirectly } from '../http/direct.ts'
import { limitHeaders, type RateLimits, type Told } from '../http/rate-limits.ts'
import type { Acceptor } from './acceptor.ts'
import type { Evaluate, Evaluation } from './evaluate.ts'
import type { Reply } from './schemes/scheme.ts'

export interface DirectParts {
  /** The target of the requests, and how many of them one address may make in a minute. */
  target: string
  perMinute: number
  bodyLimit: number
  evaluate: Evaluate
  acceptor: Acceptor
  limits: RateLimits
  bodies: BodyReader
  originOf: (request: IncomingMessage) => string
  log: FastifyBaseLogger
  /** Of every answer, as names and values in turn. */
  headers: readonly string[]
  /** Called for each event that was stored. */
  accepted: () => void
}

/** What was found out of a request before the framework had it. */
export interface Found {
  readonly evaluation: Evaluation
  /** How it went with storing it, if it came that far. */
  readonly stored: Promise<void> | undefined
}

/**
 * Answers webhooks that are as they should be past the framework, which costs a sixth of all that is done for one.
 * Everything else takes the ordinary way, with what was found out by then: its body, what was counted, the evaluation and
 * how storing it went. Nothing is done twice.
 */
export class DirectWebhooks {
  readonly #found = new WeakMap<IncomingMessage, Found>()

  foundOf(request: IncomingMessage): Found | undefined {
    return this.#found.get(request)
  }

  answer(parts: DirectParts): AnswerDirectly {
    const { target, perMinute, bodyLimit, evaluate, acceptor, limits, bodies, originOf, log } = parts
    const written = writer(parts.headers)
    const usual = written({
      status: 200,
      body: '{"received":true}',
      contentType: 'application/json; charset=utf-8',
    })
    return (request, response, leave) => {
      const limit = limits.ahead(request, target, perMinute)
      if (limit?.allowed === false) return leave()
      bodies.read(request, bodyLimit, (problem, bytes) => {
        const handOn = (evaluation?: Evaluation, stored?: Promise<void>): void => {
          limits.handOn(request, limit)
          bodies.handOn(request, problem, bytes)
          if (evaluation) this.#found.set(request, { evaluation, stored })
          leave()
        }
        if (problem) return handOn()
        const { headers } = request
        const url = originOf(request) + request.url
        const goOn = (evaluation: Evaluation): void => {
          if (!('event' in evaluation)) return handOn(evaluation)
          const { event, reply, rate } = evaluation
          const stored = acceptor.add(event)
          stored.then(
            () => {
              try {
                send(response, reply ? written(reply) : usual, narrower(limit, rate))
              } catch {
                // A scheme's own reply that cannot be sent: it is met again on the ordinary way, answered and logged.
                return handOn(evaluation, stored)
              }
              parts.accepted()
            },
            () => handOn(evaluation, stored),
          )
        }
        let evaluating: Evaluation | Promise<Evaluation>
        try {
          evaluating = evaluate({ rawBody: bytes!, headers, url, log })
        } catch {
          // It is thrown again on the ordinary way, where errors are answered and logged.
          return handOn()
        }
        if (evaluating instanceof Promise) evaluating.then(goOn, () => handOn())
        else goOn(evaluating)
      })
    }
  }
}

function narrower(one: Told | undefined, other: Told | undefined): Told | undefined {
  return one && other ? (other.remaining < one.remaining ? other : one) : (one ?? other)
}

/** Headers as they go onto the wire: that costs less than an object that has to be read. */
interface Written {
  readonly status: number
  readonly body: string
  readonly headers: string[]
}

/** Makes answers with these headers, beside those of their bodies. */
function writer(common: readonly string[]): (reply: Reply) => Written {
  return ({ status, body, contentType }) => {
    // RFC 9110, section 8.6: an answer without content has no length.
    const length = status === 204 ? [] : ['content-length', String(Buffer.byteLength(body))]
    const type = contentType === undefined ? [] : ['content-type', contentType]
    return { status, body, headers: [...common, ...type, ...length] }
  }
}

function send(response: ServerResponse, { status, body, headers }: Written, limit: Told | undefined): void {
  const all = limit ? [...headers, ...Object.entries(limitHeaders(limit)).flat().map(String)] : headers
  response.writeHead(status, all).end(body)
}
