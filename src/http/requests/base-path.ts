import type { FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    /** What the paths of this service begin with for its clients: empty, or such as `/gate`. Routes are declared without it. */
    basePath: string
  }
}

/** The path of a public address, without a slash at its end: empty for an origin. */
export function basePathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/(?<!\/)\/+$/, '')
}

/**
 * The address of the sign-in page, with the parameters that are defined. `return_to` is left out where it is the dashboard, to which a
 * sign-in leads anyway.
 */
export function loginPath(basePath: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter(
    (pair): pair is [string, string] =>
      pair[1] !== undefined && !(pair[0] === 'return_to' && pair[1] === `${basePath}/dashboard`),
  )
  const text = new URLSearchParams(given).toString()
  return text === '' ? `${basePath}/login` : `${basePath}/login?${text}`
}

/**
 * Whether browsers read a text as a path of the site that they are at. They read `\` as `/`, remove tabs and line breaks, and read
 * `//host` as another site.
 */
export function isLocalPath(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- it matches control characters
  return /^\/(?!\/)[^\\\u0000-\u0020\u007f]*$/.test(text)
}

/** Characters of the path to which a sign-in leads back. */
const longestWayBack = 2048

/**
 * The path and query that lead a browser back to the page that it asked for: below the base path, and never at another site.
 * `undefined` for other methods than GET, and for targets that are too long or no path of this service.
 */
export function wayBack({ url, method, server: { basePath } }: FastifyRequest): string | undefined {
  // The target of the absolute form (RFC 9112, section 3.2.2) names a host.
  return method === 'GET' && url.length <= longestWayBack && isLocalPath(url) ? basePath + url : undefined
}

/** The path of the dashboard. */
export function defaultTarget(baseUrl: string): string {
  return `${basePathOf(baseUrl)}/dashboard`
}

/** Where the browser goes after the sign-in: a path of this origin, or the dashboard if `wanted` is anything else. */
export function safeReturnTo(wanted: string | undefined, baseUrl: string): string {
  if (!wanted || wanted.length > longestWayBack || !isLocalPath(wanted)) return defaultTarget(baseUrl)
  const url = URL.parse(wanted, baseUrl)
  if (url?.origin !== new URL(baseUrl).origin || url.pathname.startsWith('//')) return defaultTarget(baseUrl)
  return url.pathname + url.search + url.hash
}
