import type { Authentication } from './authentication.ts'
import type { Role } from '../storage/tables.ts'

/** What the settings demand of admins: `ADMIN_MFA`, `ADMIN_AMR_VALUES`, `ADMIN_ACR_VALUES`. */
export interface SecondFactorDemand {
  required: boolean
  amrValues: readonly string[]
  acrValues: readonly string[]
}

/**
 * Whether admins have shown a second factor at their provider. It is asked at each request and not at the sign-in, so
 * that a setting counts for sessions that are there already.
 */
export class SecondFactor {
  readonly #demand: SecondFactorDemand

  constructor(demand: SecondFactorDemand) {
    this.#demand = demand
  }

  /** Whether somebody of this role lacks one that is demanded. Users without rights of an admin need none. */
  isMissing(role: Role, { acr, amr }: Pick<Authentication, 'acr' | 'amr'>): boolean {
    const { required, amrValues, acrValues } = this.#demand
    if (!required || role !== 'admin') return false
    return !hasOneOf(amr, amrValues) && !hasOneOf(acr, acrValues)
  }
}

/** Where somebody signs in with a second factor, at the provider that they signed in with. */
export function stepUpPath(provider: string): string {
  return `/auth/${provider}?second_factor=true`
}

function hasOneOf(told: string | null, wanted: readonly string[]): boolean {
  return told !== null && told.split(' ').some((value) => wanted.includes(value))
}
