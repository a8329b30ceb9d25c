import type { FastifyRequest } from 'fastify'

/**
 * The address of the sign-in page that leads back to what a request asked for: `/login` checks the target again, since anybody can
 * write the parameter. Without one, the sign-in leads to the dashboard.
 */
export function signInPath(request: FastifyRequest): string {
  const login = `${request.server.basePath}/login`
  const back = request.url === '/dashboard' ? undefined : wayBack(request)
  return back === undefined ? login : `${login}?${new URLSearchParams({ return_to: back }).toString()}`
}

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
