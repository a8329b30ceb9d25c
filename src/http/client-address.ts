import proxyAddr from '@fastify/proxy-addr'
import type { FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

/**
 * Where a request came from: the address of the connection, or, behind the proxies that TRUSTED_PROXIES names, what the
 * last of them saw. An IPv4 address in IPv6 clothes is written as what it is.
 */
export function clientIp(request: FastifyRequest): string {
  return addressOf(request.ip, request.socket)
}

function addressOf(seen: string, socket: IncomingMessage['socket']): string {
  // A trusted proxy that passes on what it was sent may pass on anything.
  const address = isIP(seen) === 0 ? (socket.remoteAddress ?? '') : seen
  return mapped.exec(address)?.[1] ?? address
}

/** What rate limits count by: the address, an IPv6 one by its /64, since that is what one customer gets. */
export function clientNetwork(request: FastifyRequest): string {
  return networkOf(clientIp(request))
}

/** The same for requests that the framework has not got yet. */
export function readNetworks(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const trusted = trustedProxies.length > 0 ? proxyAddr.compile([...trustedProxies]) : undefined
  return (request) => {
    const seen = trusted ? proxyAddr(request, trusted) : request.socket.remoteAddress
    return networkOf(addressOf(seen ?? '', request.socket))
  }
}

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** @param address IPv4 or IPv6. However an IPv6 address is written, its network is written in one way. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.toLowerCase().replace(/%.*$/, '').split('::')
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  // An IPv4 address at the end takes the place of two groups.
  const length = after.at(-1)?.includes('.') ? 7 : 8
  if (tail !== undefined) while (groups.length + after.length < length) groups.push('0')
  groups.push(...after)
  const network = groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ''))
  return `${network.join(':')}::/64`
}
