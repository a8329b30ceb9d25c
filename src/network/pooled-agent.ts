import { Agent, Pool, ProxyAgent, type buildConnector, type Dispatcher } from 'undici'
import { guardedConnector, vetted, type ConnectorOptions } from './guarded-connector.ts'

const limits = {
  allowH2: false,
  pipelining: 1,
  keepAliveTimeout: 4_000,
  keepAliveMaxTimeout: 60_000,
  headersTimeout: 0,
  bodyTimeout: 0,
  maxHeaderSize: 32 * 1024,
}

export type PooledAgent = ReturnType<typeof openPooledAgent>

/** Creates the connections of an outbound agent. */
export function openPooledAgent(options: ConnectorOptions, proxy?: string) {
  const kept = openPool(options, proxy)
  let fresh: Dispatcher | undefined
  return {
    kept,
    fresh: (): Dispatcher => (fresh ??= openPool(options, proxy)),
    close: async (): Promise<void> => void (await Promise.all([kept.close(), fresh?.close()])),
    destroy: async (): Promise<void> => void (await Promise.all([kept.destroy(), fresh?.destroy()])),
  }
}

/** Direct connections, or tunnels through a proxy. */
function openPool(options: ConnectorOptions, proxy?: string): Dispatcher {
  if (proxy === undefined) return new Agent({ ...limits, connect: guardedConnector(options) })
  return new ProxyAgent({
    ...limits,
    uri: proxy,
    // http is tunnelled as well, so that the proxy passes the request on unchanged.
    proxyTunnel: true,
    connectTimeout: options.timeout ?? 10_000,
    requestTls: { allowH2: false, ...options.tls },
    factory: (origin, poolOptions) => {
      const { connect, ...rest } = poolOptions as Pool.Options & { connect: buildConnector.connector }
      return new Pool(origin, { ...rest, connect: vetted(options, connect) })
    },
  })
}
