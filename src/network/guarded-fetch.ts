import { Egress, faultOfDestination } from './egress.ts'
import { createOutboundAgent, errorOf, type OutboundAgent, type Outcome } from './exchange.ts'

interface GuardedFetchOptions {
  /** See createOutboundAgent. */
  agent: OutboundAgent
  allowPrivateNetwork: boolean
  /** Milliseconds for the whole exchange, the response's body included. Default 10,000. */
  timeout?: number
  /** The largest response, in bytes; a larger one is an error. Default 1 MiB. */
  responseLimit?: number
}

/** The part of the standard `fetch` that libraries with a replaceable fetch use. */
export type GuardedFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Statuses whose response has no body (https://fetch.spec.whatwg.org/#null-body-status). */
const withoutBody = new Set([101, 103, 204, 205, 304])

/**
 * A `fetch` for addresses that others supply: it uses the guarded agent, limits time and bytes, and does not follow redirects.
 * Rejects as fetch does: with a TypeError if the address is not allowed or the connection fails, with the signal's reason if that
 * is aborted, with a TimeoutError after `timeout`.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const { agent, allowPrivateNetwork, timeout = 10_000, responseLimit = 1024 * 1024 } = options
  const egress = new Egress({ allowPrivateNetwork })
  return async (input, init = {}) => {
    const request = new Request(input, init)
    const fault = faultOfDestination(request.url, egress)
    if (fault) throw new TypeError(fault)
    const url = new URL(request.url)
    // AbortSignal.timeout would keep its timer after the exchange.
    const deadline = new AbortController()
    const cut = (): void => deadline.abort(request.signal.reason)
    if (request.signal.aborted) cut()
    else request.signal.addEventListener('abort', cut, { once: true })
    const timer = setTimeout(
      () => deadline.abort(new DOMException('The exchange took too long.', 'TimeoutError')),
      timeout,
    )
    const body = request.body ? new Uint8Array(await request.arrayBuffer()) : null
    const exchange = agent.exchange({
      origin: url.origin,
      path: url.pathname + url.search,
      method: request.method,
      headers: Object.fromEntries(request.headers),
      body,
      responseLimit: responseLimit + 1,
    })
    try {
      return responseOf(await exchange.until(deadline.signal), responseLimit)
    } finally {
      clearTimeout(timer)
      request.signal.removeEventListener('abort', cut)
    }
  }
}

/** A guarded fetch with an agent of its own. The caller destroys it. */
export function openGuardedFetch(
  options: Omit<GuardedFetchOptions, 'agent'>,
): Pick<OutboundAgent, 'destroy'> & { fetch: GuardedFetch } {
  const agent = createOutboundAgent(options)
  return { fetch: createGuardedFetch({ ...options, agent }), destroy: () => agent.destroy() }
}

/** @throws TypeError */
function responseOf(outcome: Outcome, responseLimit: number): Response {
  const { error, status, body } = outcome
  if (body !== null && body.length > responseLimit)
    throw new TypeError(`request failed: the response is larger than ${responseLimit} bytes`)
  if (error !== undefined || status === null)
    throw new TypeError(`request failed: ${errorOf(outcome).message}`, { cause: error })
  const headers = new Headers()
  for (const [name, value] of Object.entries(outcome.headers ?? {})) {
    for (const one of [value ?? []].flat()) headers.append(name, one)
  }
  return new Response(withoutBody.has(status) ? null : new Uint8Array(body ?? []), { status, headers })
}
