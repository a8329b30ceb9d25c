/**
 * An address of an app with further parameters. Its own query stays as it is written (RFC 6749, section 3.1.2): the
 * `searchParams` of a URL would write it anew, `%20` as `+` and `?flag` as `?flag=`.
 * @param uri absolute, without a fragment
 */
export function withQuery(uri: string, parameters: readonly (readonly [string, string])[]): string {
  const { href } = new URL(uri)
  if (parameters.length === 0) return href
  const added = new URLSearchParams(parameters.map(([name, value]) => [name, value])).toString()
  const separator = href.includes('?') ? (/[?&]$/.test(href) ? '' : '&') : '?'
  return href + separator + added
}
