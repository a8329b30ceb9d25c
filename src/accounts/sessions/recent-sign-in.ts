import type { Configuration } from '../../config/environment.ts'
import type { FastifyRequest } from 'fastify'
import { Problem } from '../../errors.ts'
import { RateLimiter } from '../../http/limits/rate-limiter.ts'
import { auditOrigin } from '../audit/audit.ts'
import type { Session } from './session-lookup.ts'
import type { AccountWiring } from '../services.ts'
import type { StepUp } from '../../http/access/principal.ts'
import type { Role } from '../../storage/tables.ts'
import type { Authentication } from './authentication.ts'

/** Audit entries about one user in a minute at most: the owner of a cookie can repeat the call without bound. */
const mostEntries = 10

/**
 * Requires a recent authentication before identities are linked or unlinked, API keys, apps or invitations with rights are created,
 * rights are given to a user, or an admin acts for one. A stolen cookie alone must not be enough for these. The time of the
 * authentication at the provider counts, not that of the sign-in here: with a session there, a provider signs a person in without
 * authenticating them.
 */
export class RecentSignIn {
  readonly #parts: AccountWiring
  readonly #limiter: RateLimiter

  constructor(parts: AccountWiring) {
    this.#parts = parts
    this.#limiter = new RateLimiter(parts.clock)
  }

  /**
   * Requires that the caller is a browser session with a recent sign-in. A cookie beside another credential proves nothing: it may be of
   * another person.
   * @param action the action of the audit entry about a refusal.
   * @throws Problem, if it helps with the path for signing in again
   */
  async require(
    request: FastifyRequest,
    action:
      | 'identity.link_failed'
      | 'identity.unlink_failed'
      | 'key.create_failed'
      | 'client.create_failed'
      | 'impersonation.refused'
      | 'invitation.create_failed'
      | 'user.change_failed',
    provider?: string,
  ): Promise<void> {
    const { userId, kind } = request.principal ?? {}
    const session = await this.#sessionOf(request)
    if (session && this.isRecent({ at: session.authenticatedAt, proof: session.authenticationProof })) return
    const code = kind === 'session' ? 'reauthentication-needed' : 'forbidden'
    if (userId !== undefined && this.#limiter.take(userId, mostEntries).allowed)
      await this.#parts.audit.note({ ...auditOrigin(request), action, userId, provider, code })
    if (code === 'forbidden')
      throw new Problem(code, { detail: 'This call needs a signed-in browser session.' })
    throw new Problem(code, session && { detail: this.#instructionFor(session) })
  }

  /** The session that is the credential of the request. */
  async #sessionOf({ principal, headers }: FastifyRequest): Promise<Session | undefined> {
    if (principal?.kind !== 'session') return undefined
    const { sessions, sessionCookie } = this.#parts
    const session = await sessions.find(sessionCookie.read({ headers }))
    return session?.id === principal.sessionId ? session : undefined
  }

  /** Whether an authentication is recent, and proven as far as the settings demand. */
  isRecent({ at, proof: given }: { at: number; proof: Session['authenticationProof'] }): boolean {
    const { clock, configuration } = this.#parts
    const { recentSignIn: within, recentSignInProof: proof } = configuration
    // `when-supported`: the time of the sign-in counts if the provider does not report when it authenticated the person.
    const isProven = given === 'verified' || (given === 'asserted' && proof === 'when-supported')
    return isProven && at > clock.now() - within
  }

  #instructionFor({ provider, authenticationProof }: Session): string {
    if (authenticationProof === 'asserted' && this.#parts.configuration.recentSignInProof === 'required')
      return `The provider ${provider} cannot prove when it authenticated you. Sign in with another one that can.`
    return `Sign in again at /auth/${provider}?reauthenticate=true (with return_to, a path to go to afterwards).`
  }
}

/**
 * Requires that admins used a second factor at their provider. It is evaluated at each request, not at the sign-in, so that
 * a changed setting applies to existing sessions.
 */
export function createSecondFactor({
  adminMfa,
  adminAmrValues,
  adminAcrValues,
}: Pick<Configuration, 'adminMfa' | 'adminAmrValues' | 'adminAcrValues'>) {
  return {
    /** Whether a required second factor is missing from a sign-in. Only the admin role requires one. */
    isMissing(role: Role, { acr, amr }: Pick<Authentication, 'acr' | 'amr'>): boolean {
      if (adminMfa !== 'required' || role !== 'admin') return false
      return !hasOneOf(amr, adminAmrValues) && !hasOneOf(acr, adminAcrValues)
    },
    /** How to sign in with one at the same provider. */
    stepUp: (basePath: string, provider: string): StepUp => ({
      path: `${basePath}/auth/${provider}?second_factor=true`,
      acrValues: adminAcrValues,
    }),
  }
}

function hasOneOf(claim: string | null, accepted: readonly string[]): boolean {
  return claim !== null && claim.split(' ').some((value) => accepted.includes(value))
}
