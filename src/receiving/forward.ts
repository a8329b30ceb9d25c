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

/** Sends over the network by the global fetch. Redirects are answers like any other: their status is no 2xx. */
export const sendByFetch: Send = async ({ url, headers, body, signal }) => {
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body: Buffer.from(body),
    redirect: 'manual',
    signal,
  })
  await response.body?.cancel()
  return response.status
}
