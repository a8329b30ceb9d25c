import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import type { BodyReader } from '../body/reader.ts'
import type { TrustedProxies } from '../limits/client-address.ts'
import { problemAnswer, type ProblemLog, toProblem } from '../responses/problem-details.ts'
import { limitHeaders, type RateLimits, type RateStatus, tooManyRequests } from '../limits/rate-limits.ts'
import type { Log } from '../../telemetry/log.ts'

/** An answer with its own headers, as names and values in turn. */
export interface RawAnswer {
  readonly status: number
  readonly body: string
  readonly headers: readonly string[]
}

/** What all raw calls use. */
export interface RawParts {
  log: Log
  limits: RateLimits
  bodies: BodyReader
  proxies: TrustedProxies
  /** Headers of every answer, as names and values in turn. */
  headers: readonly string[]
  basePath: string
  problemLog: ProblemLog
}

/** One request to a raw endpoint, and everything that is known about it. */
export class RawCall {
  readonly request: IncomingMessage
  /** The declared path. Logs name it instead of the requested one, which may contain secrets. */
  readonly route: string
  readonly #response: ServerResponse
  readonly #parts: RawParts
  readonly #began = performance.now()
  #log: FastifyBaseLogger | undefined
  #id: string | undefined
  #limit: RateStatus | undefined

  constructor(parts: RawParts, route: string, request: IncomingMessage, response: ServerResponse) {
    this.#parts = parts
    this.route = route
    this.request = request
    this.#response = response
  }

  /** The id of the request in problems and log lines. */
  get id(): string {
    return (this.#id ??= randomUUID())
  }

  /** A logger whose lines have the id of the request. */
  get log(): FastifyBaseLogger {
    return (this.#log ??= this.#parts.log.child({ reqId: this.id }))
  }

  get isDebugged(): boolean {
    return this.#parts.log.isLevelEnabled('debug')
  }

  /** Milliseconds since the headers of the request arrived. */
  get elapsed(): number {
    return performance.now() - this.#began
  }

  /** The address of the client. */
  get address(): string {
    return this.#parts.proxies.addressOf(this.request)
  }

  /** What rate limits count by. */
  get network(): string {
    return this.#parts.proxies.networkOf(this.request)
  }

  /** Whether a trusted proxy made the call, so that its X-Forwarded-* headers count. */
  get isFromProxy(): boolean {
    return this.#parts.proxies.trusts(this.request)
  }

  /** The public address of the service, as the client called it. */
  get baseUrl(): string {
    return this.#parts.proxies.originOf(this.request) + this.#parts.basePath
  }

  /**
   * Counts the call for its client network.
   * @param perMinute the limit of this route; without it, the call counts toward the limit that all other routes share
   * @throws Problem `too-many-requests`
   */
  takeFromLimit(perMinute?: number): void {
    const taken = this.#parts.limits.takeRaw(this.request, this.route, perMinute)
    if (!taken) return
    this.sendLimit(taken)
    if (!taken.allowed) throw tooManyRequests(taken)
  }

  /** Sends the status of a rate limit with the answer; of several, the narrowest. */
  sendLimit(limit: RateStatus): void {
    if (!this.#limit || limit.remaining < this.#limit.remaining) this.#limit = limit
  }

  /** Reads the body. @throws Problem as `BodyReader.read`; then the connection closes, because the client may send more. */
  readBody(limit: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#parts.bodies.read(this.request, limit, (problem, bytes) => {
        if (!problem) return resolve(bytes!)
        this.closeConnection()
        reject(problem)
      })
    })
  }

  /** Adds a header to the answer, also to that of an error. */
  setHeader(name: string, value: string): void {
    this.#response.setHeader(name, value)
  }

  /** Makes the answer the last one on its connection. */
  closeConnection(): void {
    this.#response.setHeader('connection', 'close')
  }

  send({ status, body, headers }: RawAnswer): void {
    const all = [...this.#parts.headers, ...headers]
    if (this.#limit)
      for (const [name, value] of Object.entries(limitHeaders(this.#limit))) all.push(name, String(value))
    this.#response.writeHead(status, all).end(body)
    if (status >= 400) this.#logRequest('info', status, { address: this.address })
    else if (this.isDebugged) this.#logRequest('debug', status)
  }

  /** Answers with the problem that describes an error. */
  fail(error: unknown): void {
    const problem = toProblem(error)
    this.#parts.problemLog.report(this.log, problem, error)
    const { status, headers, body } = problemAnswer(problem, this.id, this.#parts.basePath)
    this.send(rawAnswer(status, body, headers))
  }

  #logRequest(level: 'info' | 'debug', status: number, caller: { address?: string } = {}): void {
    this.#response.once('finish', () => {
      const { method } = this.request
      const ms = Math.round(this.elapsed)
      this.log[level]({ method, route: this.route, status, ms, ...caller }, 'request')
    })
  }
}

/** Adds the length of the body to the headers of an answer. */
export function rawAnswer(
  status: number,
  body: string,
  headers: Readonly<Record<string, string | undefined>>,
): RawAnswer {
  const all = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [name, value]))
  // RFC 9110, section 8.6: an answer without content has no length.
  if (status !== 204) all.push('content-length', String(Buffer.byteLength(body)))
  return { status, body, headers: all }
}
