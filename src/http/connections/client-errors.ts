import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Problem, type ProblemCode } from '../../errors.ts'
import type { ServerSocket } from './closing.ts'
import { problemBody, problemMediaType } from '../responses/problem-details.ts'
import type { FastifyInstance } from 'fastify'

const codes: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
}

/** Milliseconds for the client to read its last answer. If the connection were closed at once with unread input, the answer could be lost. */
const lastWords = 2_000

/**
 * Creates the handler for input that never became a request: invalid HTTP, headers that are too large or too slow.
 * @param headers of every answer, as names and values in turn
 */
export function clientErrorAnswerer(
  headers: readonly string[],
  basePath: string,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  let common = ''
  for (let at = 0; at < headers.length; at += 2) common += `${headers[at]}: ${headers[at + 1]}\r\n`
  return (error, socket: ServerSocket) => {
    // After the beginning of another answer, the client would read it as a part of that one.
    if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) {
      socket.destroy()
      return
    }
    const problem = new Problem(codes[error.code ?? ''] ?? 'bad-request')
    const body = JSON.stringify(problemBody(problem, randomUUID(), basePath))
    socket.end(
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${common}content-type: ${problemMediaType}\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    )
    // Otherwise a client could keep the connection open.
    const timer = setTimeout(() => socket.destroy(), lastWords)
    socket.once('close', () => clearTimeout(timer))
  }
}

/**
 * Closes the connection after a request with an Upgrade header. The service supports no upgrade and answers such a request like any
 * other (RFC 9110, section 7.8), but Node stops reading after it and drops the rest of the packet. Closing tells the client which
 * requests were not processed.
 */
export function closeAfterUpgradeRequests({ server }: FastifyInstance): void {
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
  })
}

declare module 'fastify' {
  interface FastifyInstance {
    outage: ServiceOutage
  }
}

/** Paths that are still answered: probes of the process itself. */
const answered = new Set(['/healthz', '/readyz'])

/** Answers all calls with the same problem, from `begin` on. */
export class ServiceOutage {
  #problem: Problem | undefined

  constructor(app: FastifyInstance) {
    app.addHook('onRequest', async ({ routeOptions }) => {
      if (this.#problem && !answered.has(routeOptions.url ?? '')) throw this.#problem
    })
  }

  get problem(): Problem | undefined {
    return this.#problem
  }

  start(problem: Problem): void {
    this.#problem = problem
  }
}

/**
 * Finds faults that a proxy and this service could interpret differently: several or no Host headers (RFC 9112, section 3.2), and
 * transfer codings other than `chunked` alone, which the parser would pass on undecoded (section 6.1). The parser refuses other
 * framing faults itself.
 * @returns the fault, or undefined
 */
export function framingFault(request: IncomingMessage): string | undefined {
  const { rawHeaders, httpVersion } = request
  let hosts = 0
  let hasCoding = false
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 4 && (name === 'Host' || name.toLowerCase() === 'host')) hosts += 1
    else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') hasCoding = true
  }
  if (hosts > 1) return 'The Host header came more than once.'
  if (hosts === 0 && httpVersion === '1.1') return 'The Host header is missing.'
  // `headers` is made of all raw headers when it is first read, which not every route does.
  if (!hasCoding) return undefined
  const coding = request.headers['transfer-encoding'] ?? ''
  if (coding.toLowerCase() !== 'chunked') return 'The only transfer coding that is understood is chunked.'
  return httpVersion === '1.0' ? 'HTTP/1.0 has no transfer codings.' : undefined
}

/** Refuses such requests, and closes their connections, because the rest of the data is ambiguous. */
export function refuseFramingFaults(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const detail = framingFault(request.raw)
    if (detail === undefined) return done()
    reply.header('connection', 'close')
    done(new Problem('bad-request', { detail }))
  })
}
