import { Problem } from '../errors.ts'
import { rawAnswer, type RawAnswer } from '../http/raw/call.ts'
import { returnPath, type ForwardedRequest } from './forwarded-request.ts'
import type { GuardedHost } from './hosts.ts'
import { emptyHeaders, withoutOwnCookies } from './identity-headers.ts'
import { acceptedLanguage, forbiddenPage, formPage } from './pages.ts'
import type { Person } from './people.ts'
import { waiting } from './token-lookups.ts'

/** A request of which the host is known. */
export interface Answered extends ForwardedRequest {
  guarded: GuardedHost
  /** nginx does not pass on a redirect of an authentication request: it gets a 401 with the address in Location. */
  redirectsBy401: boolean
}

const html = 'text/html; charset=utf-8'

/** In place of the last of the request's cookies, which were all Postern's. */
const noCookie = 'postern=removed'

/**
 * All headers are always sent: Caddy writes the name of its variable for one that is missing.
 * @param token the signed token for the application; an empty string if the application gets no token
 */
export function allowed(asked: Answered, person: Person | undefined, token: string): RawAnswer {
  const headers = [
    ...(person?.headers ?? emptyHeaders),
    'Cookie',
    cookieFor(asked.cookie),
    'Remote-Token',
    token,
  ]
  if (!asked.isEnvoy) return { status: 204, body: '', headers }
  // Envoy takes 200 only.
  headers.push('Content-Length', '0')
  return { status: 200, body: '', headers }
}

/**
 * The request's cookies without Postern's own. Never empty if there were any: Caddy 2.9 to 2.11.1 skips empty values and would pass
 * the request's cookies on, the session's among them.
 */
function cookieFor(cookie: string | undefined): string {
  return cookie === undefined ? '' : withoutOwnCookies(cookie) || noCookie
}

/** For a request without a session. @throws Problem `not-signed-in` if a browser shows no page of it */
export function signedOut(
  { guarded, uri, isPage, isForm, redirectsBy401, acceptLanguage }: Answered,
  baseUrl: string,
): RawAnswer {
  const signInUrl = (path: string): string => {
    const to = guarded.isOwn ? `${baseUrl}/login` : `${guarded.origin}/.postern/start`
    return `${to}?return_to=${encodeURIComponent(path)}`
  }
  if (isPage) return rawAnswer(redirectsBy401 ? 401 : 302, '', { location: signInUrl(returnPath(uri)) })
  if (isForm)
    return rawAnswer(401, formPage(acceptedLanguage(acceptLanguage), signInUrl('/')), {
      'content-type': html,
    })
  throw new Problem('not-signed-in', {
    detail: 'The request was not passed on, because the browser is not signed in.',
    advice: `Open ${guarded.origin}/ in the browser to sign in, then repeat the request.`,
  })
}

/** For a person whom no rule lets pass. @throws Problem `forbidden` if a browser shows no page of it */
export function forbidden(
  { isPage, isForm, acceptLanguage }: Answered,
  person: Person,
  baseUrl: string,
): RawAnswer {
  if (!isPage && !isForm)
    throw new Problem('forbidden', {
      detail: 'The rules of forwardAuth do not let this account use the path.',
      advice: 'Sign in with another account, or ask your administrator for access.',
    })
  const name = person.email ?? person.name ?? person.userId
  return rawAnswer(403, forbiddenPage(acceptedLanguage(acceptLanguage), name, `${baseUrl}/dashboard`), {
    'content-type': html,
  })
}

/** 401 and not 429, of which nginx makes a 500. There is no redirect, because the next answer would be the same. */
export function tooManyUnknown(): Problem {
  return new Problem('not-signed-in', {
    detail: 'The address has sent too many invalid cookies.',
    advice: 'Wait for the time in Retry-After.',
    retryAfter: waiting / 1000,
  })
}
