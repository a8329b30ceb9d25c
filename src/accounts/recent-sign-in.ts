import type { FastifyRequest } from 'fastify'
import type { Clock } from '../runtime/clock.ts'
import { Problem } from '../errors.ts'
import { RateLimiter } from '../http/rate-limiter.ts'
import { auditOrigin, type Audit } from './audit.ts'
import type { HostCookie } from './host-cookie.ts'
import type { Session } from './session-lookup.ts'
import type { Sessions } from './sessions.ts'

/** Entries about one user in a minute: whoever has a cookie can ask as often as they like. */
const most = 10

/** What counts as a proof of a recent sign-in; see `RECENT_SIGN_IN_PROOF`. */
export type RecentSignInProof = 'when-supported' | 'required'

/**
 * Whether somebody proved who they are shortly before. A stolen cookie must not be enough to change the ways into an
 * account: neither to add one that stays, nor to take one away. What counts is when the provider authenticated them, not
 * when they last passed through it: a provider lets a person pass who has a session there.
 */
export class RecentSignIn {
  readonly #sessions: Sessions
  readonly #cookie: HostCookie
  readonly #audit: Audit
  readonly #clock: Clock
  readonly #within: number
  readonly #proof: RecentSignInProof
  readonly #limiter: RateLimiter

  /**
   * @param parts.within milliseconds since the authentication.
   * @param parts.proof `when-supported`: where the provider cannot tell when it authenticated a person, the time of the
   * sign-in counts. `required`: only what the provider proves counts.
   */
  constructor(parts: {
    sessions: Sessions
    cookie: HostCookie
    audit: Audit
    clock: Clock
    within: number
    proof: RecentSignInProof
  }) {
    this.#sessions = parts.sessions
    this.#cookie = parts.cookie
    this.#audit = parts.audit
    this.#clock = parts.clock
    this.#within = parts.within
    this.#proof = parts.proof
    this.#limiter = new RateLimiter(parts.clock)
  }

  /**
   * The problem to answer with when the sign-in was too long ago or is not proven; it names where to sign in again.
   * `undefined` when the sign-in is recent.
   * @param action what the audit log calls it then.
   */
  async check(
    request: FastifyRequest,
    action: 'identity.link_failed' | 'identity.unlink_failed',
    provider: string,
  ): Promise<Problem | undefined> {
    const token = this.#cookie.read(request)
    const session = token === undefined ? undefined : await this.#sessions.find(token)
    if (session && this.#isRecent(session)) return undefined
    const code = 'reauthentication-needed'
    const { userId } = request.principal ?? {}
    if (userId !== undefined && this.#limiter.take(userId, most).allowed)
      await this.#audit.note({ ...auditOrigin(request), action, userId, provider, code })
    return new Problem(code, session && { detail: this.#adviceFor(session) })
  }

  #isRecent({ authenticatedAt, authenticationProof: proof }: Session): boolean {
    const proven = proof === 'verified' || (proof === 'asserted' && this.#proof === 'when-supported')
    return proven && authenticatedAt > this.#clock.now() - this.#within
  }

  #adviceFor({ provider, authenticationProof }: Session): string {
    if (authenticationProof === 'asserted' && this.#proof === 'required')
      return `The provider ${provider} cannot prove when it authenticated you. Sign in with another one that can.`
    return `Sign in again at /auth/${provider}?reauthenticate=true (with return_to, a path to go to afterwards).`
  }
}
