import { basePathOf } from '../../http/requests/base-path.ts'
import { longestWayBack } from '../../http/pages/error-page.ts'

/** The path of the dashboard. */
export function defaultTarget(baseUrl: string): string {
  return `${basePathOf(baseUrl)}/dashboard`
}

/**
 * Where the browser goes after the sign-in: a path of this origin, or the dashboard if `wanted` is anything else. Browsers
 * read `\` as `/`, remove tabs and line breaks, and read `//host` as another site, so such paths are refused.
 */
export function safeReturnTo(wanted: string | undefined, baseUrl: string): string {
  // oxlint-disable-next-line no-control-regex -- it matches control characters
  if (!wanted || wanted.length > longestWayBack || !/^\/(?!\/)[^\\\u0000-\u0020\u007f]*$/.test(wanted))
    return defaultTarget(baseUrl)
  if (!URL.canParse(wanted, baseUrl)) return defaultTarget(baseUrl)
  const url = new URL(wanted, baseUrl)
  if (url.origin !== new URL(baseUrl).origin || url.pathname.startsWith('//')) return defaultTarget(baseUrl)
  return url.pathname + url.search + url.hash
}
