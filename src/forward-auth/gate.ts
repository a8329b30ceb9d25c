import type { Refusal } from '../accounts/refusals.ts'
import type { Session } from '../accounts/sessions/session-lookup.ts'
import { Problem } from '../errors.ts'
import { rawAnswer, type RawAnswer, type RawCall } from '../http/raw/call.ts'
import { type Misdirected, readAskedHost, forwardPath, returnPath } from './forwarded-request.ts'
import type { GuardedHost, Rule } from './hosts.ts'
import { type IdentityTokens, emptyHeaders, headersOf, withoutOwnCookies } from './identity-headers.ts'
import type { Pass, Passes, ForwardAuthBasis } from './passes.ts'
import { lets, type People, type Person } from './people.ts'
import { admitProgram, type Caller, challengeOf, type RuledRequest, scopesFor } from './programs.ts'
import type { TokenLookups } from './token-lookups.ts'
import { acceptedLanguage, forbiddenPage, formPage } from './pages.ts'

interface GateParts extends ForwardAuthBasis {
  people: People
  passes: Passes
  tokens: IdentityTokens
  lookups: TokenLookups
}

/** A person who is signed in, and the role that counts. */
type SignedIn = Pick<Pass, 'session' | 'role' | 'person'>

/** What is known about a request while it is decided. */
interface Asked extends RuledRequest {
  /** When the request began, so that a pass ends if the session changes while it is read. */
  era: number | undefined
  /** nginx does not pass on a redirect of an authentication request: it gets a 401 with the address in Location. */
  redirectsBy401: boolean
}

const urlOfNginx = `${forwardPath}?for=nginx`

/** Decides for a proxy whether a request may reach an application. */
export class Gate {
  readonly #parts: GateParts

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  /** Answers one call of a proxy, at once if the session and the person are cached. @throws Problem */
  answer(call: RawCall): RawAnswer | Promise<RawAnswer> {
    return this.#parts.passes.answerTo(call) ?? this.#examine(call)
  }

  #examine(call: RawCall): RawAnswer | Promise<RawAnswer> {
    const asked = this.#read(call)
    if ('code' in asked) return this.#refused(call, asked)
    // Also for errors, so the page can read that it has to sign in.
    for (const [name, value] of Object.entries(corsHeaders(asked.rules, asked.origin) ?? {}))
      call.setHeader(name, value)
    if (asked.isPreflight) return this.#preflight(call, asked)
    if (asked.scopes && /^bearer(?: |$)/i.test(asked.authorization ?? ''))
      return this.#admitProgram(call, asked)
    const token = this.#tokenOf(asked)
    const session = token === undefined ? undefined : this.#cached(token, asked.guarded)
    const person = session && this.#parts.people.cached(session)
    return person ? this.#decide(call, asked, session, person) : this.#readAndDecide(call, asked, token)
  }

  async #readAndDecide(call: RawCall, asked: Asked, token: string | undefined): Promise<RawAnswer> {
    const session = token === undefined ? undefined : await this.#find(call, token, asked.guarded)
    const person = session && (await this.#parts.people.find(session))
    if (session && person) return this.#decide(call, asked, session, person)
    if (asked.rules.every(({ allow }) => allow === 'everyone')) return this.#allow(asked, undefined)
    this.#parts.count(asked.host, 'signed-out')
    return signedOut(asked, this.#parts.baseUrl())
  }

  #decide(call: RawCall, asked: Asked, session: Session, person: Person): RawAnswer | Promise<RawAnswer> {
    const role = this.#parts.secondFactor.isMissing(session.role, session) ? 'user' : session.role
    // Applications cannot distinguish an admin who acts for the person from the person.
    if (session.impersonatorId !== null)
      return asked.rules.every(({ allow }) => allow === 'everyone')
        ? this.#allow(asked, undefined)
        : this.#forbid(call, asked, session, person)
    if (asked.rules.every(({ allow }) => lets(allow, role, person)))
      return this.#allow(asked, { session, role, person })
    return this.#forbid(call, asked, session, person)
  }

  /** Never names a user: browsers send no credential with preflights, and the answer may go to the client. */
  #preflight(call: RawCall, asked: Asked): RawAnswer | Promise<RawAnswer> {
    const { rules, origin, methods, isEnvoy, host } = asked
    if (rules.every(passesPreflight)) return this.#allow(asked, undefined)
    const headers = corsHeaders(rules, origin)
    this.#parts.count(host, headers ? 'allowed' : 'signed-out')
    if (rules.every(({ cors }) => cors === undefined)) return signedOut(asked, this.#parts.baseUrl())
    const wanted = call.request.headers['access-control-request-headers']
    return answerPreflight(headers, { method: methods.join(), wanted, isFinal: isEnvoy })
  }

  async #admitProgram(call: RawCall, asked: Asked): Promise<RawAnswer> {
    const { tokens, count } = this.#parts
    const { guarded } = asked
    const named = await admitProgram(this.#parts, call, asked, (...about) => this.#note(call, ...about))
    count(guarded.host, 'allowed')
    const token = guarded.hasToken ? await tokens.sign(guarded, named) : ''
    return allowed({ ...asked, authorization: removedCredential }, headersOf(named), token)
  }

  #read(call: RawCall): Asked | Misdirected {
    const read = readAskedHost(call, this.#parts.hosts())
    if ('code' in read) return read
    const { forwarded, guarded } = read
    const era = this.#parts.passes.eraOf(guarded)
    const rules = guarded.rulesFor(forwarded.path, forwarded.methods)
    const redirectsBy401 = call.request.url === urlOfNginx
    return { ...forwarded, guarded, rules, scopes: scopesFor(rules), era, redirectsBy401 }
  }

  /** @throws Problem `forbidden` */
  async #refused(call: RawCall, { code, detail, advice }: Misdirected): Promise<never> {
    this.#parts.count('unknown', 'refused')
    await this.#note(call, { action: 'forward_auth.refused', code })
    throw new Problem('forbidden', { detail, advice })
  }

  #note(call: RawCall, refusal: Refusal, caller: Caller = {}): Promise<void> {
    const { address, id: supportId, network } = call
    const { userId, ...actor } = caller
    const origin = { address, userAgent: call.request.headers['user-agent'], supportId, ...actor }
    return this.#parts.noteRefusedCall({ origin, network, userId, call: `GET ${forwardPath}` }, refusal)
  }

  #tokenOf({ cookie, guarded }: Asked): string | undefined {
    const { sessionCookie, hostCookie } = this.#parts
    return (guarded.isOwn ? sessionCookie : hostCookie).read({ headers: { cookie } })
  }

  /** The session, without waiting, if it is cached. */
  #cached(token: string, { isOwn, host }: GuardedHost): Session | undefined {
    const { sessions, hostSessions } = this.#parts
    if (isOwn) return sessions.cached(token)
    const session = hostSessions.cached(token)
    return session?.host === host ? session : undefined
  }

  /** @throws Problem `not-signed-in` if the address has sent too many unknown tokens */
  #find(call: RawCall, token: string, guarded: GuardedHost): Promise<Session | undefined> {
    const { sessions, lookups } = this.#parts
    // A token of one host is unknown at all others.
    const key = `${guarded.host} ${token}`
    const find = () => (guarded.isOwn ? sessions.find(token) : this.#findAtHost(call, guarded, token))
    return lookups.lookUp(key, () => call.network, find)
  }

  async #findAtHost(call: RawCall, { host }: GuardedHost, token: string): Promise<Session | undefined> {
    const session = await this.#parts.hostSessions.find(token)
    if (!session || session.host === host) return session
    // Somebody copied the cookie: no browser sends it to another host.
    const refusal = { action: 'forward_auth.refused', code: 'other-host', target: `host:${host}` } as const
    await this.#note(call, { ...refusal, userId: session.userId })
    return undefined
  }

  #allow(asked: Asked, signedIn: SignedIn | undefined): RawAnswer | Promise<RawAnswer> {
    const { passes, people, tokens, count } = this.#parts
    const { guarded, era } = asked
    count(guarded.host, 'allowed')
    if (!signedIn) return allowed(asked, emptyHeaders, '')
    const { person } = signedIn
    const personUntil = people.cachedUntil(person)
    const answer = (token: string, until: number): RawAnswer => {
      const sent = allowed(asked, person.headers, token)
      const isUsual = asked.authorization === undefined && !asked.isEnvoy
      if (era !== undefined && asked.cookie !== undefined && isUsual)
        passes.cache(guarded, asked.cookie, { ...signedIn, answer: sent, era, until })
      return sent
    }
    if (!guarded.hasToken) return answer('', personUntil)
    const { token, until } = tokens.tokenFor(guarded, person)
    return token.then((signed) => answer(signed, Math.min(until, personUntil)))
  }

  async #forbid(call: RawCall, asked: Asked, session: Session, person: Person): Promise<RawAnswer> {
    const { count, baseUrl } = this.#parts
    count(asked.host, 'forbidden')
    const target = `host:${asked.host}`
    const { userId, id: sessionId } = session
    const caller = { actor: `user:${session.impersonatorId ?? userId}`, sessionId, userId }
    await this.#note(call, { action: 'forward_auth.forbidden', code: 'forbidden', target }, caller)
    return forbidden(asked, person, baseUrl())
  }
}

const html = 'text/html; charset=utf-8'

/** In place of the last of the request's cookies, which were all Postern's. */
const noCookie = 'postern=removed'
/** Replaces a program's credential, with which the application could act as the program elsewhere. */
const removedCredential = 'Postern removed'

/**
 * All headers but Authorization are always sent: Caddy writes the name of its variable for one that is missing.
 * @param identity as `headersOf` returns it
 * @param token the signed token for the application; an empty string if the application gets no token
 */
function allowed(asked: Asked, identity: readonly string[], token: string): RawAnswer {
  const headers = [...identity, 'Cookie', cookieFor(asked.cookie), 'Remote-Token', token]
  // Omitted rather than empty: some applications reject an empty one.
  if (asked.authorization !== undefined) headers.push('Authorization', asked.authorization)
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
function signedOut(
  { guarded, uri, isPage, isForm, redirectsBy401, acceptLanguage, scopes }: Asked,
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
    ...(scopes && { challenge: challengeOf(guarded, scopes) }),
  })
}

/** For a person whom no rule lets pass. @throws Problem `forbidden` if a browser shows no page of it */
function forbidden({ isPage, isForm, acceptLanguage }: Asked, person: Person, baseUrl: string): RawAnswer {
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

/** Names of headers, separated by commas (RFC 9110, section 5.6). */
const headerNames = /^[\w!#$%&'*+.^`|~, -]+$/

/** Whether a preflight may reach the application. */
function passesPreflight({ allow, cors }: Rule): boolean {
  return cors === 'application' || (cors === undefined && allow === 'everyone')
}

/**
 * The headers with which pages of an origin may read a response (https://fetch.spec.whatwg.org/#http-cors-protocol); `undefined` unless all
 * rules list the origin.
 */
function corsHeaders(
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
function answerPreflight(
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
