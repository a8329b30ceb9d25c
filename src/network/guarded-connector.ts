import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { Agent, buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici'
import { Egress, type EgressRules, portOf, withoutBrackets } from './egress.ts'
import { ConnectionTrace } from './exchange.ts'

/** Resolves a name to all of its addresses. */
export type Resolve = (
  host: string,
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

/** Certificates of one destination, as PEM. */
export interface TlsOptions {
  cert?: string | undefined
  key?: string | undefined
  /** The only authorities that are accepted. */
  ca?: string | undefined
}

export interface ConnectorOptions extends EgressRules {
  /** Default: no client certificate, and the public authorities. */
  tls?: TlsOptions | undefined
  /** Milliseconds for the connection, TLS included. Default 10,000. */
  timeout?: number
  /** How names are resolved. Default: the system's resolver. */
  resolve?: Resolve
}

/** The destination is a private or reserved address. */
class ReservedAddress extends Error {
  readonly code = 'RESERVED_ADDRESS'
  /** Whether a name resolved to the address. */
  readonly resolved: boolean
  constructor(host: string, address: string) {
    const where = host === address ? host : `${host} resolves to ${address}, which`
    super(`${where} is a private or reserved address; ALLOW_PRIVATE_NETWORK=true would allow it`)
    this.name = 'ReservedAddress'
    this.resolved = host !== address
  }
}

/** The destination is a port that EMIT_PORTS does not allow. */
class RefusedPort extends Error {
  readonly code = 'REFUSED_PORT'
  constructor(port: number) {
    super(`port ${port} is not allowed; see EMIT_PORTS`)
    this.name = 'RefusedPort'
  }
}

const resolveAll: Resolve = (host, callback) => systemLookup(host, { all: true }, callback)

/**
 * A connector for undici that checks the addresses that it connects to. net.connect does not look up literal addresses, so
 * those are checked first. For a name, all addresses of one look-up are checked, and the connection is made to these
 * addresses, which prevents DNS rebinding. One reserved address among several refuses all.
 */
function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { timeout = 10_000, resolve = resolveAll } = options
  const egress = new Egress(options)
  const lookup = vettedLookup(resolve, egress)
  let making: ConnectionTrace | undefined
  const connect = buildConnector({
    allowH2: false,
    timeout,
    autoSelectFamily: true,
    ...options.tls,
    lookup: (host, lookupOptions, callback) => {
      // This runs synchronously during `connect`, so `making` is the trace of this connection.
      const trace = making
      lookup(host, lookupOptions, (error, ...found) => {
        if (!error) trace?.lookedUp()
        callback(error, ...found)
      })
    },
  })
  return (destination, callback) => {
    const host = withoutBrackets(destination.hostname)
    const literal = isIP(host) !== 0
    const refusal = refusalOf(egress, destination, literal ? [host] : [])
    if (refusal) {
      callback(refusal, null)
      return
    }
    const trace = new ConnectionTrace(!literal)
    making = trace
    // The type does not declare that it returns its socket.
    const socket = connect(named(destination), (...result) => {
      trace.settled(result[0] ?? result[1])
      callback(...result)
    }) as unknown as Socket
    making = undefined
    trace.follow(socket, destination.protocol === 'https:')
  }
}

/**
 * Checks a destination before a proxy is asked to connect to it. The proxy resolves the name again, so only the proxy can
 * prevent DNS rebinding. Names that do not resolve here are left to the proxy.
 */
function vetted(options: ConnectorOptions, connect: buildConnector.connector): buildConnector.connector {
  const { resolve = resolveAll } = options
  const egress = new Egress(options)
  return (destination, callback) => {
    const host = withoutBrackets(destination.hostname)
    const literal = isIP(host) !== 0
    const trace = new ConnectionTrace(!literal)
    const go = (addresses: readonly string[]): void => {
      const refusal = refusalOf(egress, destination, addresses)
      if (refusal) return callback(refusal, null)
      if (!literal) trace.lookedUp()
      trace.unresolved = addresses.length === 0
      connect(named(destination), (...result) => {
        if (!result[0]) trace.connectedByProxy()
        trace.settled(result[0] ?? result[1])
        callback(...result)
      })
    }
    if (literal) go([host])
    else resolve(host, (_error, addresses) => go((addresses ?? []).map(({ address }) => address)))
  }
}

/** TLS names a host without the dot that may end it in an address (RFC 6066, section 3). */
function named(destination: buildConnector.Options): buildConnector.Options {
  const { hostname, host } = destination
  if (!hostname.endsWith('.')) return destination
  // A tunnel takes the name from the host.
  const plain = hostname.slice(0, -1)
  return { ...destination, servername: plain, ...(host && { host: host.replace(hostname, plain) }) }
}

function refusalOf(
  egress: Egress,
  { hostname, port, protocol }: buildConnector.Options,
  addresses: readonly string[],
): Error | undefined {
  const wanted = portOf(port, protocol)
  if (egress.refusesPort(wanted)) return new RefusedPort(wanted)
  const host = withoutBrackets(hostname)
  const refused = addresses.find((address) => egress.refuses(host, address))
  return refused === undefined ? undefined : new ReservedAddress(host, refused)
}

function vettedLookup(resolve: Resolve, egress: Egress): LookupFunction {
  return (host, { all }, callback) => {
    resolve(host, (error, addresses) => {
      if (error) return callback(error, [])
      const [first] = addresses
      if (!first) return callback(new Error(`${host} has no address`), [])
      const refused = addresses.find(({ address }) => egress.refuses(host, address))
      if (refused) return callback(new ReservedAddress(host, refused.address), [])
      if (all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

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
