/** Most parameters that are read of one query string; the rest is ignored. */
const mostParameters = 100

/**
 * Parses a query string. A repeated parameter counts once, with its first value, so that every value is a string; a
 * broken percent sequence stays as it was written. Nothing here is an error: what a value means is the reader's matter.
 */
export function parseQueryString(text: string): Record<string, string> {
  const parameters = Object.create(null) as Record<string, string>
  let count = 0
  for (const part of text.split('&', mostParameters)) {
    if (part === '' || ++count > mostParameters) continue
    const equals = part.indexOf('=')
    const name = decode(equals < 0 ? part : part.slice(0, equals))
    if (!(name in parameters)) parameters[name] = equals < 0 ? '' : decode(part.slice(equals + 1))
  }
  return parameters
}

/**
 * The name of a parameter that a query string has more than once; `undefined` when there is none. For endpoints of OAuth,
 * whose parameters must not be repeated (RFC 6749, section 3.1): two readers of one request could take different ones.
 */
export function repeatedParameter(text: string): string | undefined {
  const names = new Set<string>()
  for (const part of text.split('&')) {
    if (part === '') continue
    const [name = ''] = part.split('=', 1)
    const decoded = decode(name)
    if (names.has(decoded)) return decoded
    names.add(decoded)
  }
  return undefined
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}
