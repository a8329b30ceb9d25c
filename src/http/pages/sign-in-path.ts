import type { FastifyRequest } from 'fastify'

/**
 * The address of the sign-in page that leads back to what a request asked for. The target is a path below the base path of
 * this service: `/login` checks it again, since anybody can write the parameter. Without one, the sign-in leads to the dashboard.
 */
export function signInPath({ url, method, server: { basePath } }: FastifyRequest): string {
  if (url === '/dashboard') return `${basePath}/login`
  // The target of the absolute form (RFC 9112, section 3.2.2) names a host, and `//host` would be another site.
  const isOwnPath = method === 'GET' && /^\/(?![/\\])/.test(url)
  const query = isOwnPath ? `?${new URLSearchParams({ return_to: basePath + url }).toString()}` : ''
  return `${basePath}/login${query}`
}
