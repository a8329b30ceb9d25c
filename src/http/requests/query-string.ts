/** Most parameters that are read of one query string; the rest is ignored. */
const mostParameters = 100

/**
 * Parses a query string. A repeated parameter counts once, with its first value, so that every value is a string; a
 * broken percent sequence stays as it was written. Nothing is an error here: handlers interpret values.
 */
export function parseQueryString(text: string): Record<string, string> {
  const parameters = Object.create(null) as Record<string, string>
  for (const part of text.split('&', mostParameters)) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = decode(equals < 0 ? part : part.slice(0, equals))
    if (!(name in parameters)) parameters[name] = equals < 0 ? '' : decode(part.slice(equals + 1))
  }
  return parameters
}

/** The query string of a request as it was sent, without the question mark. */
export function rawQuery(url: string): string {
  return url.split('?').slice(1).join('?')
}

/**
 * Reads parameters of OAuth, which must not be repeated (RFC 6749, section 3.1): two readers of one request could take different
 * ones.
 * @param text a query string or a form
 * @param names the parameters that are read; without it, all
 * @returns the first value of each, and the names that came more than once
 */
export function readOAuthParameters<Name extends string = string>(
  text: string,
  names?: readonly Name[],
): { values: Partial<Record<Name, string>>; repeated: Name[] } {
  const values = Object.create(null) as Partial<Record<Name, string>>
  const repeated: Name[] = []
  for (const [given, value] of new URLSearchParams(text)) {
    const name = given as Name
    if (names && !names.includes(name)) continue
    if (name in values) repeated.push(name)
    else values[name] = value
  }
  return { values, repeated }
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
