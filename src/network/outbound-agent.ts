import type { Dispatcher } from 'undici'
import { Exchange, type ExchangeRequest } from './exchange.ts'
import type { ConnectorOptions } from './guarded-connector.ts'

export interface AgentOptions extends ConnectorOptions {
  /** Address of an HTTP proxy through which every connection goes (CONNECT); default: none. */
  proxy?: string | undefined
}

/** Makes requests over connections of its own. */
export interface OutboundAgent {
  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>
  /** One request whose answer is read into memory, bounded, and timed part by part. */
  exchange(request: ExchangeRequest): Exchange
  /** Closes the connections when what is under way has ended. */
  close(): Promise<void>
  /** Cuts what is under way, and closes the connections. */
  destroy(): Promise<void>
}

/**
 * The agent for every request that the service makes to an address that somebody else chose. HTTP/1.1, connections kept
 * alive for a short while, no redirects (`request` follows none). Its own time limits are off: whoever makes a request
 * bounds the whole exchange by a signal, and the response by bytes. The caller destroys it. What it needs is loaded at its
 * first request: a tenth of the memory of a service that has not made any.
 */
export function createOutboundAgent({ proxy, ...options }: AgentOptions): OutboundAgent {
  let agent: Dispatcher | undefined
  let opening: Promise<Dispatcher> | undefined
  let closed = false
  const open = async (): Promise<Dispatcher> => {
    const { openPooledAgent } = await import('./pooled-agent.ts')
    if (closed) throw new Error('the agent is closed')
    return (agent = openPooledAgent(options, proxy))
  }
  return {
    async request(request) {
      return (agent ?? (await (opening ??= open()))).request(request)
    },
    exchange(request) {
      const exchange = new Exchange(request)
      if (agent) exchange.begin(agent, request)
      else
        (opening ??= open()).then(
          (opened) => exchange.begin(opened, request),
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
