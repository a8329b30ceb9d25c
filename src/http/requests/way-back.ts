import type { FastifyRequest } from 'fastify'

/** Characters of the path to which a sign-in leads back. */
export const longestWayBack = 2048

/**
 * The path and query that lead a browser back to the page that it asked for: below the base path, and never at another site.
 * `undefined` for other methods than GET, and for targets that are too long or no path of this service.
 */
export function wayBack({ url, method, server: { basePath } }: FastifyRequest): string | undefined {
  // The target of the absolute form (RFC 9112, section 3.2.2) names a host, and `//host` would be another site.
  return method === 'GET' && url.length <= longestWayBack && /^\/(?![/\\])/.test(url)
    ? basePath + url
    : undefined
}
