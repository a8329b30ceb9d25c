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
 * The parameters of an OAuth or OpenID request, in their order. One without a value counts as omitted (RFC 6749, sections 3.1
 * and 3.2): every OAuth and OpenID endpoint reads its query or form through this function.
 * @param text a query string or a form
 */
export function oauthParameters(text: string): [name: string, value: string][] {
  return [...new URLSearchParams(text)].filter(([, value]) => value !== '')
}

/**
 * Reads parameters of OAuth, which must not be repeated (RFC 6749, section 3.1): two readers of one request could take different
 * ones. Only `resource` may be; its values come separated by spaces.
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
  for (const [given, value] of oauthParameters(text)) {
    const name = given as Name
    if (names && !names.includes(name)) continue
    if (!(name in values)) values[name] = value
    // RFC 8707, section 2: an app may ask for several APIs. Names of APIs are URIs, which contain no space.
    else if (given === 'resource') values[name] += ` ${value}`
    else repeated.push(name)
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
