const longest = 2048
export const defaultTarget = '/dashboard'

/**
 * Where the browser goes after the sign-in: a path of our own, or the dashboard for everything else. Browsers read
 * `\` as `/`, drop tabs and line breaks, and take `//host` for another site, so what they might read otherwise than it
 * looks is not accepted.
 */
export function safeReturnTo(wanted: string | undefined, origin: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (!wanted || wanted.length > longest || !/^\/(?!\/)[^\\\u0000-\u0020\u007f]*$/.test(wanted))
    return defaultTarget
  if (!URL.canParse(wanted, origin)) return defaultTarget
  const url = new URL(wanted, origin)
  if (url.origin !== origin || url.pathname.startsWith('//')) return defaultTarget
  return url.pathname + url.search + url.hash
}
