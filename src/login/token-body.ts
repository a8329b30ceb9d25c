import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'

/** A string of JSON, with the colon after it when it is a name; or a bracket. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]/g

/**
 * JSON whose names must not be repeated: parsers keep the last value of a name, so that a proxy that keeps the first
 * would see another request (RFC 6749, section 3.2: parameters must not be included more than once).
 */
export function acceptJsonWithoutRepetition(scope: App): void {
  scope.removeContentTypeParser('application/json')
  const parse = scope.getDefaultJsonParser('error', 'error')
  scope.bodies.parse(scope, ['application/json'], (request, bytes, done) => {
    const text = bytes.toString()
    void parse(request, text, (error, body) => {
      const repeated = error ? undefined : repeatedName(text)
      if (repeated === undefined) return done(error, body)
      done(new Problem('bad-request', { detail: `The field ${repeated} came twice.` }))
    })
  })
}

/** The name that the outermost object of a valid JSON text has more than once. */
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
