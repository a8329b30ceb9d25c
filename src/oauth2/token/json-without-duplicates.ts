import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'

/** A JSON string, with the colon that follows if it is a name; or a bracket. */
const tokens = /"[^"\\]*(?:\\[^][^"\\]*)*(?:"(\s*:)?|\\?$)|[{}[\]]/g

/**
 * Parses JSON as `oauthParameters` reads forms: a text without a character counts as omitted. Rejects repeated names (RFC 6749, section 3.2: parameters must not be included more than once). Parsers
 * keep the last value, so a proxy that keeps the first one would see another request.
 */
export function acceptJsonWithoutDuplicates(routes: App): void {
  routes.removeContentTypeParser('application/json')
  const parse = routes.getDefaultJsonParser('error', 'error')
  routes.bodies.parse(routes, ['application/json'], (request, bytes, done) => {
    const text = bytes.toString()
    void parse(request, text, (error, body) => {
      const repeated = error ? undefined : repeatedName(text)
      if (error || repeated === undefined) return done(error, withoutEmpty(body))
      done(new Problem('bad-request', { detail: `The field ${repeated} came twice.` }))
    })
  })
}

function withoutEmpty(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== ''))
}

/** A name that occurs twice in the outermost object of a valid JSON text. */
export function repeatedName(json: string): string | undefined {
  const names = new Set<string>()
  let depth = 0
  for (const [token, colon] of json.matchAll(tokens)) {
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') depth -= 1
    else if (depth === 1 && colon !== undefined) {
      const name = JSON.parse(token.slice(0, token.length - colon.length)) as string
      if (names.has(name)) return name
      names.add(name)
    }
  }
  return undefined
}
