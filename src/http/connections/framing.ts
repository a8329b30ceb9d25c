import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { Problem } from '../../errors.ts'

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
