import proxyAddr from '@fastify/proxy-addr'
import type { FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { BoundedCache } from '../../runtime/bounded-cache.ts'

/**
 * The address of the client: that of the connection, or, behind the proxies that TRUSTED_PROXIES names, the one that the last of
 * them saw. An IPv4 address that is mapped into IPv6 is written as IPv4.
 */
export function clientIp(request: FastifyRequest): string {
  return addressOf(request.ip, request.socket)
}

function addressOf(seen: string, socket: IncomingMessage['socket']): string {
  // A trusted proxy may pass on any text that it received.
  const address = isIP(seen) === 0 ? (socket.remoteAddress ?? '') : seen
  return mapped.exec(address)?.[1] ?? address
}

/** What rate limits count by: an IPv4 address, or the /64 network of an IPv6 address, which one customer has. */
export function clientNetwork(request: FastifyRequest): string {
  return networkOf(clientIp(request))
}

/** Reads where a request comes from, for requests that the framework does not see. Gives the same results as the framework. */
export class TrustedProxies {
  readonly #trusts: ((address: string, hop: number) => boolean) | undefined

  /** By the address of the peer: there are few proxies, and they call often. */
  readonly #peers = new BoundedCache<string, boolean>(1_000)

  /** @param networks the setting TRUSTED_PROXIES */
  constructor(networks: readonly string[]) {
    if (networks.length > 0) this.#trusts = proxyAddr.compile([...networks])
  }

  addressOf(request: IncomingMessage): string {
    const seen = this.#trusts ? proxyAddr(request, this.#trusts) : request.socket.remoteAddress
    return addressOf(seen ?? '', request.socket)
  }

  networkOf(request: IncomingMessage): string {
    return networkOf(this.addressOf(request))
  }

  /** Whether a trusted proxy made the connection, so that the X-Forwarded-* headers of its requests count. */
  trusts({ socket }: Pick<IncomingMessage, 'socket'>): boolean {
    if (!this.#trusts) return false
    const address = socket.remoteAddress ?? ''
    let trusted = this.#peers.get(address)
    if (trusted === undefined) this.#peers.set(address, (trusted = this.#trusts(address, 0)))
    return trusted
  }

  /** The scheme and host that the client called, which a trusted proxy passes on in headers. */
  originOf(request: IncomingMessage): string {
    const forwarded = this.trusts(request) ? lastOf(request.headers['x-forwarded-proto']) : undefined
    return `${forwarded ?? 'http'}://${this.hostOf(request)}`
  }

  /** The host that the client called, as `originOf`; empty without one. */
  hostOf(request: IncomingMessage): string {
    const { host = '', 'x-forwarded-host': forwarded } = request.headers
    return (this.trusts(request) ? lastOf(forwarded) : undefined) ?? host
  }
}

function lastOf(header: string | string[] | undefined): string | undefined {
  return header ? [header].flat().join(',').split(',').at(-1)!.trim() : undefined
}

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** @param address IPv4 or IPv6, in any notation; each network is written in one way. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.toLowerCase().split('%', 1)[0]!.split('::')
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  // An IPv4 address at the end takes the place of two groups.
  const length = after.at(-1)?.includes('.') ? 7 : 8
  if (tail !== undefined) while (groups.length + after.length < length) groups.push('0')
  groups.push(...after)
  const network = groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ''))
  return `${network.join(':')}::/64`
}
