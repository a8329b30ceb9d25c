import type { Authentication } from '../accounts/authentication.ts'
import { storable, type ProfileDocument } from './profile.ts'

/** Milliseconds that the clocks of a provider and of this machine may differ, and that whole seconds round off. */
const tolerance = 60_000
/** Characters that are kept of `acr`, and of all `amr` values together. */
const longest = 500

export interface AuthenticationQuestion {
  now: number
  /** Whether the provider is expected to tell the time of the authentication when it is asked to authenticate anew. */
  provable: boolean
  /** When it was asked to; `undefined` when it was not. */
  askedAt: number | undefined
}

/** The provider was asked to authenticate the person anew, and its id_token does not prove that it did. */
export class ReauthenticationUnproven extends Error {
  override readonly name = 'ReauthenticationUnproven'
}

/**
 * How and when the person was authenticated, by the claims of the verified id_token (OpenID Connect Core, section 2:
 * `auth_time`, `acr`, `amr`). When a provider was asked to authenticate anew (`max_age`, section 3.1.2.1), its `auth_time` must
 * not be before that (section 3.1.3.7, point 13).
 * @throws ReauthenticationUnproven
 */
export function readAuthentication(
  claims: ProfileDocument,
  { now, provable, askedAt }: AuthenticationQuestion,
): Authentication {
  const time = authTimeIn(claims, now)
  const methods = { acr: acrIn(claims), amr: valuesOf(claims['amr']) }
  // Some providers send none, although the standard makes it a must: they are as those that cannot tell.
  if (!provable || claims['auth_time'] === undefined)
    return { at: time ?? now, proof: time === undefined ? 'asserted' : 'verified', ...methods }
  if (askedAt !== undefined) {
    if (time === undefined) throw new ReauthenticationUnproven('the id_token has no usable auth_time')
    if (time < askedAt - tolerance)
      throw new ReauthenticationUnproven(
        `the id_token tells of an authentication ${Math.round((askedAt - time) / 1000)} seconds before it was asked for`,
      )
  }
  return { at: time ?? now, proof: time === undefined ? 'unproven' : 'verified', ...methods }
}

/** Milliseconds. A time that is still to come proves nothing; one within the tolerance is taken as now. */
function authTimeIn({ auth_time: seconds }: ProfileDocument, now: number): number | undefined {
  if (typeof seconds !== 'number' || !(seconds > 0)) return undefined
  const time = Math.floor(seconds) * 1000
  return time > now + tolerance ? undefined : Math.min(time, now)
}

/** Microsoft tells the authentication contexts that were met as a list beside it (`acrs`). */
function acrIn({ acr, acrs }: ProfileDocument): string | null {
  return valuesOf([acr, ...(Array.isArray(acrs) ? acrs : [])])
}

function valuesOf(list: unknown): string | null {
  if (!Array.isArray(list)) return null
  const values = list.filter((value): value is string => typeof value === 'string' && /^\S+$/.test(value))
  const text = values.map(storable).join(' ')
  // A cut value could be read as another one.
  return text === '' || text.length > longest ? null : text
}
