import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type Server } from 'node:http'
import { duplexPair, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** Headers about a connection (RFC 9110, section 7.6.1): those of the caller's say nothing about the one in memory. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
const withoutBody = new Set([204, 304])

/**
 * Answers a web standard request by a connection in memory to the server, which does not have to listen. The connection serves this
 * request only, and both sides close it after the answer. The address of the client is not known: it counts as loopback, and
 * TRUSTED_PROXIES=127.0.0.1 lets `X-Forwarded-For` name it.
 */
export async function answerFetch(server: Server, request: Request): Promise<Response> {
  const [near, far] = duplexPair()
  // Without an error, the other end would see only the end of its input, and would go on with an answer that nobody reads.
  near.once('close', () => far.destroy())
  server.emit('connection', Object.defineProperty(far, 'remoteAddress', { value: '127.0.0.1' }))
  const { host, pathname, search } = new URL(request.url)
  const call = httpRequest({
    createConnection: () => near,
    method: request.method,
    path: pathname + search,
    headers: { host, ...endToEnd(request) },
    signal: request.signal,
  })
  const answered = once(call, 'response') as Promise<[IncomingMessage]>
  if (request.body) {
    // An answer may come before the end of the body.
    pipeline(Readable.fromWeb(request.body), call).catch(() => undefined)
  } else call.end()
  const [answer] = await answered
  const { statusCode: status = 0, rawHeaders } = answer
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (!hopByHop.has(rawHeaders[at]!.toLowerCase())) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!)
  const isEmpty = request.method === 'HEAD' || withoutBody.has(status)
  if (isEmpty) answer.resume()
  return new Response(isEmpty ? null : (Readable.toWeb(answer) as globalThis.ReadableStream), {
    status,
    headers,
  })
}

/**
 * The request's own headers, with those of a connection that ends after one answer. Headers that `connection` names are kept: a
 * caller could name `x-forwarded-for`, which a proxy has set.
 */
function endToEnd({ headers, body }: Request): Record<string, string> {
  const kept = [...headers].filter(([name]) => !hopByHop.has(name))
  const framing = body && !headers.has('content-length') && { 'transfer-encoding': 'chunked' }
  return { ...Object.fromEntries(kept), ...framing, connection: 'close' }
}
