import type { StepUp } from '../../http/access/principal.ts'
import type { Authentication } from './authentication.ts'
import type { Role } from '../../storage/tables.ts'

/** The settings `ADMIN_MFA`, `ADMIN_AMR_VALUES` and `ADMIN_ACR_VALUES`. */
export interface SecondFactorPolicy {
  required: boolean
  amrValues: readonly string[]
  acrValues: readonly string[]
}

/**
 * Requires that admins used a second factor at their provider. It is evaluated at each request, not at the sign-in, so that
 * a changed setting applies to existing sessions.
 */
export class SecondFactor {
  readonly #policy: SecondFactorPolicy

  constructor(policy: SecondFactorPolicy) {
    this.#policy = policy
  }

  /** Whether a required second factor is missing from a sign-in. Only the admin role requires one. */
  isMissing(role: Role, { acr, amr }: Pick<Authentication, 'acr' | 'amr'>): boolean {
    const { required, amrValues, acrValues } = this.#policy
    if (!required || role !== 'admin') return false
    return !hasOneOf(amr, amrValues) && !hasOneOf(acr, acrValues)
  }

  /** How to sign in with one at the same provider. */
  stepUp(basePath: string, provider: string): StepUp {
    const path = `${basePath}/auth/${provider}?second_factor=true`
    return { path, acrValues: this.#policy.acrValues }
  }
}

function hasOneOf(claim: string | null, accepted: readonly string[]): boolean {
  return claim !== null && claim.split(' ').some((value) => accepted.includes(value))
}
