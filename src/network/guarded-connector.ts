import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import { ConnectionTrace, keepTrace } from './connection-trace.ts'
import { connecting } from './exchange.ts'
import { isReservedAddress, withoutBrackets } from './reserved-addresses.ts'

/** Resolves a name to all of its addresses. */
export type Resolve = (
  host: string,
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

export interface ConnectorOptions {
  /** ALLOW_PRIVATE_NETWORK: lets everything through. */
  allowPrivateNetwork: boolean
  /** Milliseconds for the connection, TLS included. Default 10,000. */
  timeout?: number
  /** How names are resolved. Default: the system's resolver. */
  resolve?: Resolve
}

/** The destination is an address that may not be connected to. */
export class ReservedAddress extends Error {
  readonly code = 'RESERVED_ADDRESS'
  constructor(host: string, address: string) {
    const where = host === address ? host : `${host} resolves to ${address}, which`
    super(`${where} is a private or reserved address; ALLOW_PRIVATE_NETWORK=true would allow it`)
    this.name = 'ReservedAddress'
  }
}

const resolveAll: Resolve = (host, callback) => systemLookup(host, { all: true }, callback)

/**
 * A connector for undici that vets where a connection really goes. net.connect does not look up literal addresses, so
 * they are checked first; for a name, every address that one look-up gave is checked, and the connection is made to
 * those very addresses: a name that answers otherwise a moment later (rebinding) gains nothing. One reserved address
 * among several refuses all. Any port is allowed.
 */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { allowPrivateNetwork, timeout = 10_000, resolve = resolveAll } = options
  const lookup = vettedLookup(resolve, allowPrivateNetwork)
  let making: ConnectionTrace | undefined
  const connect = buildConnector({
    allowH2: false,
    timeout,
    autoSelectFamily: true,
    lookup: (host, lookupOptions, callback) => {
      // It is called while `connect` runs: whose name this is, nothing else tells.
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
    if (!allowPrivateNetwork && literal && isReservedAddress(host)) {
      callback(new ReservedAddress(host, host), null)
      return
    }
    const trace = new ConnectionTrace(!literal)
    connecting(trace)
    making = trace
    // It gives its socket back, which its type does not tell.
    const socket = connect(destination, (...result) => {
      keepTrace(result[0] ?? result[1], trace)
      callback(...result)
    }) as unknown as Socket
    making = undefined
    trace.follow(socket, destination.protocol === 'https:')
  }
}

function vettedLookup(resolve: Resolve, allowPrivateNetwork: boolean): LookupFunction {
  return (host, { all }, callback) => {
    resolve(host, (error, addresses) => {
      if (error) return callback(error, [])
      const [first] = addresses
      if (!first) return callback(new Error(`${host} has no address`), [])
      const refused = allowPrivateNetwork
        ? undefined
        : addresses.find(({ address }) => isReservedAddress(address))
      if (refused) return callback(new ReservedAddress(host, refused.address), [])
      if (all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}
