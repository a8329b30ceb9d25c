import type { IncomingMessage } from 'node:http'

/** The headers that decide about a request, as `IncomingMessage.headers` has them. */
export interface RequestHeaders {
  host?: string
  cookie?: string
  accept?: string
  'sec-fetch-dest'?: string
  'x-forwarded-host'?: string
  'x-forwarded-method'?: string
  'x-forwarded-uri'?: string
}

const names = [
  'host',
  'cookie',
  'accept',
  'sec-fetch-dest',
  'x-forwarded-host',
  'x-forwarded-method',
  'x-forwarded-uri',
] as const
/** Names of other lengths are not compared. */
const byLength = Map.groupBy(names, ({ length }) => length)

/**
 * Reads these headers alone. Node makes an object of all headers, which takes longer than the rest of the decision. Of several headers with one
 * name, the values are joined, so that a second one is never ignored.
 */
export function readHeaders({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): RequestHeaders {
  const headers: RequestHeaders = {}
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at]!
    const candidates = byLength.get(given.length)
    if (!candidates) continue
    const lower = given.toLowerCase()
    for (const name of candidates) {
      if (name !== lower) continue
      const before = headers[name]
      const value = rawHeaders[at + 1]!
      headers[name] = before === undefined ? value : `${before}${name === 'cookie' ? ';' : ','} ${value}`
    }
  }
  return headers
}
