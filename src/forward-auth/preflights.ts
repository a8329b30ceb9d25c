import { Problem } from '../errors.ts'
import { rawAnswer, type RawAnswer } from '../http/raw/call.ts'
import type { Rule } from './hosts.ts'

/** Names of headers, separated by commas (RFC 9110, section 5.6). */
const headerNames = /^[\w!#$%&'*+.^`|~, -]+$/

/** Whether a preflight may reach the application. */
export function passesPreflight({ allow, cors }: Rule): boolean {
  return cors === 'application' || (cors === undefined && allow === 'everyone')
}

/**
 * The headers with which pages of an origin may read a response (https://fetch.spec.whatwg.org/#http-cors-protocol); `undefined` unless all
 * rules list the origin.
 */
export function corsHeaders(
  rules: readonly Rule[],
  origin: string | undefined,
): Readonly<Record<string, string>> | undefined {
  const all = rules.map(({ cors }) => (typeof cors === 'object' ? cors : undefined))
  if (
    origin === undefined ||
    !all.every((cors) => cors?.origins.some((one) => one === '*' || one === origin))
  )
    return undefined
  return {
    'access-control-allow-origin': all.every((cors) => cors?.origins.includes('*')) ? '*' : origin,
    ...(all.every((cors) => cors?.credentials) && { 'access-control-allow-credentials': 'true' }),
    'access-control-expose-headers': 'WWW-Authenticate, Retry-After',
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
  }
}

/**
 * Answers a preflight to the browser.
 * @param headers as `corsHeaders` returns them
 * @param isFinal whether the browser gets this answer. Otherwise, after a success, the proxy would send the request to the application
 * @throws Problem `forbidden`
 */
export function answerPreflight(
  headers: Readonly<Record<string, string>> | undefined,
  { method, wanted = '', isFinal }: { method: string; wanted: string | undefined; isFinal: boolean },
): RawAnswer {
  if (!headers || !isFinal)
    throw new Problem('forbidden', {
      detail: 'The rules of forwardAuth do not let this preflight reach the application.',
      advice: headers
        ? 'Let the proxy send preflights to /auth/forward followed by their path, or write cors: "application".'
        : 'Add the origin to cors.origins of the rule for this path and method.',
    })
  const named = headerNames.test(wanted) && { 'access-control-allow-headers': wanted }
  const more = { 'access-control-allow-methods': method, 'access-control-max-age': '600', ...named }
  return rawAnswer(204, '', { ...headers, ...more })
}
