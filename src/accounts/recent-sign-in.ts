import type { FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { RateLimiter } from '../http/rate-limiter.ts'
import { auditOrigin, type Audit } from './audit.ts'
import type { HostCookie } from './host-cookie.ts'
import type { Sessions } from './sessions.ts'

/** Entries about one user in a minute: whoever has a cookie can ask as often as they like. */
const most = 10

/**
 * Whether somebody proved who they are shortly before. A stolen cookie must not be enough to change the ways into an
 * account: neither to add one that stays, nor to take one away.
 */
export class RecentSignIn {
  readonly #sessions: Sessions
  readonly #cookie: HostCookie
  readonly #audit: Audit
  readonly #clock: Clock
  readonly #within: number
  readonly #limiter: RateLimiter

  /** @param parts.within milliseconds since the sign-in. */
  constructor(parts: { sessions: Sessions; cookie: HostCookie; audit: Audit; clock: Clock; within: number }) {
    this.#sessions = parts.sessions
    this.#cookie = parts.cookie
    this.#audit = parts.audit
    this.#clock = parts.clock
    this.#within = parts.within
    this.#limiter = new RateLimiter(parts.clock)
  }

  /** @param action what the audit log calls it when the sign-in was too long ago. */
  async check(
    request: FastifyRequest,
    action: 'identity.link_failed' | 'identity.unlink_failed',
    provider: string,
  ): Promise<boolean> {
    const token = this.#cookie.read(request)
    const session = token === undefined ? undefined : await this.#sessions.find(token)
    if (session && session.authenticatedAt > this.#clock.now() - this.#within) return true
    const { userId } = request.principal ?? {}
    if (userId !== undefined && this.#limiter.take(userId, most).allowed) {
      const code = 'reauthentication-needed'
      await this.#audit.note({ ...auditOrigin(request), action, userId, provider, code })
    }
    return false
  }
}
