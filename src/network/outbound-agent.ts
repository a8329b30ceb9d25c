import { Exchange, type ExchangeRequest, NotSent } from './exchange.ts'
import type { ConnectorOptions } from './guarded-connector.ts'
import type { PooledAgent } from './pooled-agent.ts'

export interface AgentOptions extends ConnectorOptions {
  /** The address of an HTTP proxy for all connections (CONNECT). Default: no proxy. */
  proxy?: string | undefined
}

/** Makes requests over its own pool of connections. */
export interface OutboundAgent {
  /**
   * Sends one request. Its response is read into memory, limited in size, and each part is timed. After `close` or `destroy` it fails
   * with NotSent.
   */
  exchange(request: ExchangeRequest): Exchange
  /** Waits for the requests in flight, then closes the connections. */
  close(): Promise<void>
  /** Aborts the requests in flight, and closes the connections. */
  destroy(): Promise<void>
}

/**
 * Creates the agent for all requests to addresses that others supply. It uses HTTP/1.1, keeps connections alive briefly, and
 * follows no redirects. It has no time limits: callers limit each exchange by a signal, and the response by bytes. The caller
 * destroys it. undici is loaded at the first request, since it takes a tenth of the memory of a service that makes none.
 */
export function createOutboundAgent({ proxy, ...options }: AgentOptions): OutboundAgent {
  let agent: PooledAgent | undefined
  let opening: Promise<PooledAgent> | undefined
  let closed = false
  const open = async (): Promise<PooledAgent> => {
    const { openPooledAgent } = await import('./pooled-agent.ts')
    if (closed) throw new NotSent()
    return (agent = openPooledAgent(options, proxy))
  }
  return {
    exchange(request) {
      const exchange = new Exchange(request)
      if (closed) exchange.fail(new NotSent())
      else if (agent) exchange.start(agent, request)
      else
        (opening ??= open()).then(
          (opened) => exchange.start(opened, request),
          (error: unknown) => exchange.fail(error),
        )
      return exchange
    },
    async close() {
      closed = true
      await agent?.close()
    },
    async destroy() {
      closed = true
      await agent?.destroy()
    },
  }
}
