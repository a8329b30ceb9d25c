import { storableText } from '../../storage/sql-text.ts'
import type { ProfileDocument } from './profile.ts'
import type { Authentication } from '../../accounts/sessions/authentication.ts'

/** Seconds that a provider's clock may differ: RFC 7519 allows for a few minutes at most. */
export const clockTolerance = 60
/** Milliseconds: for the provider's clock, and for rounding to seconds. */
const tolerance = clockTolerance * 1000
/** Characters of the stored `acr` and `amr` at most. */
const maxCharacters = 500

interface AuthenticationContext {
  now: number
  /** Whether the provider sends `auth_time` when it is asked to reauthenticate the person. */
  provable: boolean
  /** When it was asked to reauthenticate, in milliseconds; `undefined` when it was not. */
  askedAt: number | undefined
}

/** The provider was asked to reauthenticate the person, and its id_token does not prove that it did. */
export class ReauthenticationUnproven extends Error {
  override readonly name = 'ReauthenticationUnproven'
}

/**
 * How and when the person was authenticated, according to the claims of the verified id_token (OpenID Connect Core, section
 * 2: `auth_time`, `acr`, `amr`). When the provider was asked to reauthenticate (`max_age`, section 3.1.2.1), `auth_time` must
 * not be earlier than the request (section 3.1.3.7, point 13).
 *
 *     auth_time   provable            not provable
 *     usable      verified            verified
 *     invalid     unproven            asserted
 *     missing     asserted            asserted
 *
 * After a request to reauthenticate, a provable and invalid or too early `auth_time` is refused. A missing one is only `asserted`;
 * accounts/sessions/recent-sign-in.ts decides whether that is enough.
 * @throws ReauthenticationUnproven
 */
export function parseAuthentication(
  claims: ProfileDocument,
  { now, provable, askedAt }: AuthenticationContext,
): Authentication {
  const time = authTimeIn(claims, now)
  const methods = { acr: acrIn(claims), amr: valuesOf(claims['amr']) }
  // Some providers omit it against the standard.
  if (!provable || claims['auth_time'] === undefined)
    return { at: time ?? now, proof: time === undefined ? 'asserted' : 'verified', ...methods }
  if (askedAt !== undefined) {
    if (time === undefined) throw new ReauthenticationUnproven('the id_token has no usable auth_time')
    if (time < askedAt - tolerance)
      throw new ReauthenticationUnproven(
        `auth_time is ${Math.round((askedAt - time) / 1000)} seconds before the request to reauthenticate`,
      )
  }
  return { at: time ?? now, proof: time === undefined ? 'unproven' : 'verified', ...methods }
}

/** `auth_time` in milliseconds. A time in the future is invalid; within the tolerance it counts as now. */
function authTimeIn({ auth_time: seconds }: ProfileDocument, now: number): number | undefined {
  if (typeof seconds !== 'number' || !(seconds > 0)) return undefined
  const time = Math.floor(seconds) * 1000
  return time > now + tolerance ? undefined : Math.min(time, now)
}

/** Microsoft sends the satisfied authentication contexts as a separate list (`acrs`). */
function acrIn({ acr, acrs }: ProfileDocument): string | null {
  return valuesOf([acr, ...(Array.isArray(acrs) ? acrs : [])])
}

function valuesOf(list: unknown): string | null {
  if (!Array.isArray(list)) return null
  const values = list.filter((value): value is string => typeof value === 'string' && /^\S+$/.test(value))
  const text = values.map((value) => storableText(value)).join(' ')
  // A truncated value could equal another value.
  return text === '' || text.length > maxCharacters ? null : text
}
