import type { OutboundAgent } from '../network/outbound-agent.ts'
import type { Handler } from './config.ts'

export interface ForwardRequest {
  url: string
  headers: Record<string, string>
  body: Uint8Array
  signal: AbortSignal
}

/** Posts a request without following redirects and resolves with the answer's status. */
export type Send = (request: ForwardRequest) => Promise<number>

/** A handler that posts the bytes that came to another service; anything but 2xx is a failure. */
export function forwardTo(url: string, send: Send): Handler {
  return async (event, { signal }) => {
    const status = await send({
      url,
      headers: {
        'content-type': event.headers['content-type'] ?? 'application/json',
        'user-agent': 'postern',
        // The same at every attempt: the receiver can recognise a repetition.
        'webhook-id': encodeURIComponent(event.id),
        'webhook-source': event.source,
        'webhook-type': encodeURIComponent(event.type),
      },
      body: event.raw,
      signal,
    })
    if (status < 200 || status > 299) throw new Error(`${new URL(url).origin} answered ${status}`)
  }
}

/** Bytes of an answer that are read, and milliseconds that reading them may take; only its status matters. */
const answerLimit = 64 * 1024
const answerTime = 5_000

/**
 * Sends over the network until `signal` is aborted. Redirects are answers like any other: their status is no 2xx. The
 * agent may allow private addresses, since the operator wrote them into the configuration.
 */
export function sendOver(agent: OutboundAgent): Send {
  return async ({ url, headers, body, signal }) => {
    const { origin, pathname, search } = new URL(url)
    const path = pathname + search
    const answer = await agent.request({ origin, path, method: 'POST', headers, body, signal })
    // Read so that the connection can be used again. Its end is not waited for: a body that trickles changes nothing.
    answer.body.dump({ limit: answerLimit, signal: AbortSignal.timeout(answerTime) }).catch(() => undefined)
    return answer.statusCode
  }
}
