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

/** Keeps the connections of an outbound agent: its own, or tunnels that a proxy makes for it. */
export function openPooledAgent(options: ConnectorOptions, proxy?: string): Dispatcher {
  if (proxy === undefined) return new Agent({ ...limits, connect: guardedConnector(options) })
  return new ProxyAgent({
    ...limits,
    uri: proxy,
    // http is tunnelled, too: what is sent is nobody else's to read or change.
    proxyTunnel: true,
    connectTimeout: options.timeout ?? 10_000,
    requestTls: { allowH2: false },
    factory: (origin, poolOptions) => {
      const { connect, ...rest } = poolOptions as Pool.Options & { connect: buildConnector.connector }
      return new Pool(origin, { ...rest, connect: vetted(options, connect) })
    },
  })
}
