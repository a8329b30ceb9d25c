import type { IncomingHttpHeaders } from 'node:http'
import type { Session } from '../accounts/sessions/session-lookup.ts'
import type { RawAnswer, RawCall } from '../http/raw/call.ts'
import { BoundedCache } from '../runtime/bounded-cache.ts'
import { forwardPath, methodsOf, pathOf, single } from './forwarded-request.ts'
import type { GuardedHost, Rule } from './hosts.ts'
import { cacheTime, lets, type Person } from './people.ts'
import type { AccountServices } from '../accounts/services.ts'
import type { HostCookie } from '../http/responses/host-cookie.ts'

/** Passes of one host at most. */
const capacity = 10_000
/** Longer Cookie headers, in characters, get no pass, so that passes have at most some megabytes. */
const longestCookie = 1_024

/** What a Cookie header means at one host, and the answer to requests that the rules let pass. */
export interface Pass {
  readonly session: Session
  /** The role that counts. */
  readonly role: Session['role']
  readonly person: Person
  readonly answer: RawAnswer
  /** Of the session: see `SessionLookup.era`. */
  readonly era: number
  /** Milliseconds since 1970 until which the person and the token in the answer are used. */
  readonly until: number
}

/** What the parts of forward authentication share. */
export interface ForwardAuthBasis extends AccountServices {
  hosts: () => ReadonlyMap<string, GuardedHost>
  /** The cookie of other hosts. */
  hostCookie: HostCookie
  count: (host: string, outcome: Outcome) => void
}

export type Outcome = 'allowed' | 'signed-out' | 'forbidden' | 'refused'

/**
 * Answers the most frequent requests, those of a person for whom the same browser's last request was allowed. Cookies, session, person and
 * answer are then the same, and only the path has to be checked.
 */
export class Passes {
  readonly #parts: ForwardAuthBasis
  readonly #byHost = new Map<string, BoundedCache<string, Pass>>()

  constructor(parts: ForwardAuthBasis) {
    this.#parts = parts
  }

  /** The era in which a session of a host is found now; `undefined` if nothing can be cached. */
  eraOf({ isOwn }: GuardedHost): number | undefined {
    const { sessions, hostSessions } = this.#parts
    return (isOwn ? sessions : hostSessions).era
  }

  cache({ host }: GuardedHost, cookie: string, pass: Pass): void {
    if (cookie.length > longestCookie) return
    let passes = this.#byHost.get(host)
    if (!passes) this.#byHost.set(host, (passes = new BoundedCache(capacity)))
    passes.set(cookie, pass)
  }

  /** The answer to a request with a pass; `undefined` for all that need to be looked at. */
  answerTo(call: RawCall): RawAnswer | undefined {
    const { url = '', headers } = call.request
    const { cookie, authorization, 'x-forwarded-host': host } = headers
    // Envoy asks for paths below.
    if (cookie === undefined || typeof host !== 'string' || url[forwardPath.length] === '/') return undefined
    // A program's request, or a preflight, which has no user.
    if (authorization !== undefined || headers['access-control-request-method'] !== undefined)
      return undefined
    const pass = this.#byHost.get(host)?.get(cookie)
    if (!pass || !call.isFromProxy) return undefined
    const guarded = this.#parts.hosts().get(host)
    if (!guarded || !this.#isCurrent(guarded, pass)) return undefined
    const rule = ruleFor(guarded, headers)
    if (rule === undefined || !lets(rule.allow, pass.role, pass.person)) return undefined
    this.#parts.count(host, 'allowed')
    return pass.answer
  }

  #isCurrent(guarded: GuardedHost, { era, until, session }: Pass): boolean {
    const now = this.#parts.clock.now()
    if (until <= now || until > now + cacheTime || era !== this.eraOf(guarded)) return false
    return this.#parts.sessions.use(session)
  }
}

function ruleFor(guarded: GuardedHost, headers: IncomingHttpHeaders): Rule | undefined {
  const uri = single(headers['x-forwarded-uri'])
  const path = uri === undefined ? undefined : pathOf(uri)
  if (uri === undefined || path === undefined) return undefined
  if (!guarded.namesMethods) return guarded.plainRuleFor(path, 'GET')
  const [method = '', ...others] = methodsOf(single(headers['x-forwarded-method']), uri, headers)
  return others.length > 0 ? undefined : guarded.plainRuleFor(path, method)
}
