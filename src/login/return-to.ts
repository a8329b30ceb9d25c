const longest = 2048
export const defaultTarget = '/dashboard'

/**
 * Where the browser goes after the sign-in: a path of this service, or the dashboard if `wanted` is anything else. Browsers
 * read `\` as `/`, remove tabs and line breaks, and read `//host` as another site, so such paths are refused.
 */
export function safeReturnTo(wanted: string | undefined, origin: string): string {
  // oxlint-disable-next-line no-control-regex -- it matches control characters
  if (!wanted || wanted.length > longest || !/^\/(?!\/)[^\\\u0000-\u0020\u007f]*$/.test(wanted))
    return defaultTarget
  if (!URL.canParse(wanted, origin)) return defaultTarget
  const url = new URL(wanted, origin)
  if (url.origin !== origin || url.pathname.startsWith('//')) return defaultTarget
  return url.pathname + url.search + url.hash
}
