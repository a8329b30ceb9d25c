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

/** Creates the connection pool of an outbound agent: direct connections, or tunnels through a proxy. */
export function openPooledAgent(options: ConnectorOptions, proxy?: string): Dispatcher {
  if (proxy === undefined) return new Agent({ ...limits, connect: guardedConnector(options) })
  return new ProxyAgent({
    ...limits,
    uri: proxy,
    // http is tunnelled as well, so that the proxy passes the request on unchanged.
    proxyTunnel: true,
    connectTimeout: options.timeout ?? 10_000,
    requestTls: { allowH2: false },
    factory: (origin, poolOptions) => {
      const { connect, ...rest } = poolOptions as Pool.Options & { connect: buildConnector.connector }
      return new Pool(origin, { ...rest, connect: vetted(options, connect) })
    },
  })
}
