import type { FastifyRequest } from 'fastify'

/**
 * What rate limits count by: the client's address, an IPv6 one by its /64, since that is what one customer gets.
 * X-Forwarded-For counts only behind the proxies that TRUSTED_PROXIES names.
 */
export function clientAddress(request: FastifyRequest): string {
  const address = request.ip
  if (!address.includes(':')) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped) return mapped
  const [head = '', tail = ''] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (address.includes('::')) {
    const after = tail === '' ? [] : tail.split(':')
    while (groups.length + after.length < 8) groups.push('0')
    groups.push(...after)
  }
  return `${groups.slice(0, 4).join(':')}::/64`
}
