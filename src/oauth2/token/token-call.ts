import { isObject } from '../../json/exact.ts'
import { Type } from 'typebox'
import { optionalText } from '../../http/schemas/schemas.ts'
import type { App } from '../../http/app.ts'
import { preflightRoute } from '../../http/responses/cross-origin.ts'
import type { Clients } from '../clients/clients.ts'
import { Problem } from '../../errors.ts'
import { shownName } from '../../http/requests/parameters.ts'

/** The parameters with which a client authenticates in a body (RFC 6749, section 2.3.1; RFC 7521, section 4.2). */
export const clientCredentials = {
  client_id: Type.Optional(Type.String()),
  client_secret: Type.Optional(Type.String()),
  client_assertion: Type.Optional(Type.String()),
  client_assertion_type: Type.Optional(Type.String()),
}

/** The body of a call about one token (RFC 7009, section 2.1; RFC 7662, section 2.1). */
export const TokenCallBody = Type.Object({
  token: Type.Optional(Type.String()),
  token_type_hint: optionalText('Not needed'),
  ...clientCredentials,
})

/** The configuration of a path that pages of registered apps may call. */
export const browserCall = {
  access: 'public',
  ownOrigins: true,
  rateLimit: { max: 300, sharedByProcesses: true },
  sends: { always: ['Vary'], sometimes: ['Access-Control-Allow-Origin'] },
} as const

/**
 * Lets pages of the origins of registered redirect URIs call a path: a client in a browser has no server of its own. Answers
 * the preflight of the path.
 */
export function allowClientOrigins(routes: App, path: string, clients: Clients): void {
  routes.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url !== path) return
    reply.header('vary', 'Origin')
    const { origin } = request.headers
    if (origin !== undefined && (await clients.allowsOrigin(origin)))
      reply.header('access-control-allow-origin', origin)
  })
  preflightRoute(routes, path, { methods: 'POST', headers: 'content-type, authorization' })
}

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
      done(new Problem('bad-request', { detail: `The field ${shownName(repeated)} came twice.` }))
    })
  })
}

function withoutEmpty(body: unknown): unknown {
  if (!isObject(body)) return body
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== ''))
}

/** A name that occurs twice in the outermost object of a valid JSON text. */
function repeatedName(json: string): string | undefined {
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
