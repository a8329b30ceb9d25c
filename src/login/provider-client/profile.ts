import { isObject } from '../../json/exact.ts'
import type { ProviderIdentity } from '../../accounts/users/identities.ts'
import { profileClaims, type ProfileClaims } from '../../accounts/users/user-profile.ts'
import { isStorableText, storableText } from '../../storage/sql-text.ts'
import type { IssuedTokens } from './code-exchange.ts'
import type { Authentication } from '../../accounts/sessions/authentication.ts'

/** The fields of a profile before validation by `toIdentity`. */
export interface RawProfile {
  id: unknown
  name: unknown
  email: unknown
  /** Default: not verified. */
  emailVerified?: unknown
  /** The provider's own list of addresses could not be read, and `email` is from another place. */
  isFallbackEmail?: boolean
  /** Default: `pictureIn` of the profile. */
  picture?: unknown
  /** What has the values of `profileClaims`, by their names. Default: the profile. */
  claims?: ProfileDocument
}

const maxUrlCharacters = 2_000
const maxClaimCharacters = 200
const maxClaimsBytes = 4_096
const maxEmailCharacters = 320

export type ProfileDocument = Record<string, unknown>

/** The profile has no usable id. */
export class UnusableProfile extends Error {}

/** An e-mail address and whether the same document calls it verified. */
type Email = Pick<RawProfile, 'email' | 'emailVerified'>

/**
 * The profile of a provider without a preset: `id`, `displayName`, `emails[0].value`, or the OpenID claims `sub`,
 * `name`, `email` (https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims).
 */
export function readStandardProfile(document: ProfileDocument): RawProfile {
  return {
    id: document['id'] ?? document['sub'],
    name: document['displayName'] ?? document['name'],
    ...emailIn(document),
  }
}

/**
 * Merges the claims of the id_token with the userinfo response. Both may contain an e-mail address: `email_verified` is taken
 * from the document that the address comes from, unless both name the same address.
 */
export function mergeProfiles(claims: ProfileDocument, userinfo: ProfileDocument): ProfileDocument {
  const named = typeof userinfo['email'] === 'string' ? userinfo : claims
  const emailSource = named['email'] === claims['email'] ? { ...claims, ...named } : named
  const { email: _email, email_verified: _verified, ...joined } = { ...claims, ...userinfo }
  for (const name of ['email', 'email_verified']) if (name in emailSource) joined[name] = emailSource[name]
  return joined
}

function emailIn({ emails, email, email_verified: emailVerified }: ProfileDocument): Email {
  const first: unknown = Array.isArray(emails) ? emails[0] : undefined
  const listed = isObject(first) ? first['value'] : first
  if (listed === undefined || listed === null) return { email, emailVerified }
  const verified = isObject(first) ? first['verified'] : undefined
  return { email: listed, emailVerified: verified ?? (listed === email ? emailVerified : undefined) }
}

/**
 * The item of a list that has `true` in a field, such as the primary address; empty without one, or without a list.
 * @throws UnusableProfile when something else is in the place of the list
 */
export function findMarked(list: unknown, field: string): ProfileDocument {
  if (list === undefined) return {}
  if (!Array.isArray(list)) throw new UnusableProfile('the list of e-mail addresses is not a list')
  const found: unknown = list.find((item) => isObject(item) && item[field] === true)
  return isObject(found) ? found : {}
}

/** @throws UnusableProfile when the id is neither a text of 1 to 255 characters nor a number. */
export function toIdentity(
  provider: string,
  raw: RawProfile,
): Omit<ProviderIdentity, 'issuer' | 'groups' | 'adminGroup'> {
  const id = typeof raw.id === 'number' ? String(raw.id) : raw.id
  if (typeof id !== 'string' || id.length === 0 || id.length > 255 || !isStorableText(id)) {
    throw new UnusableProfile('the profile has no usable id')
  }
  const email = emailAddress(raw.email)
  return {
    provider,
    providerId: id,
    email,
    // Some providers send a string. Every other value means not verified.
    emailVerified: email !== null && (raw.emailVerified === true || raw.emailVerified === 'true'),
    ...(raw.isFallbackEmail === true && { isFallbackEmail: true }),
    name: text(raw.name, 200),
    picture: webAddress(raw.picture),
    claims: claimsIn(raw.claims ?? {}),
  }
}

/**
 * The picture in a profile: the OpenID claim `picture`, `avatar_url` of GitHub, GitLab and others, or `picture.data.url` of
 * Facebook.
 */
export function pictureIn({ picture, avatar_url: avatar }: ProfileDocument): unknown {
  if (!isObject(picture)) return picture ?? avatar
  return isObject(picture['data']) ? picture['data']['url'] : undefined
}

/** Other schemes (`javascript:`, `data:`) are dropped, since applications show the picture and link the pages. */
function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > maxUrlCharacters) return null
  const url = URL.parse(value)
  return url && /^https?:$/.test(url.protocol) && url.href.length <= maxUrlCharacters ? url.href : null
}

/** The usable claims in a fixed order, so that equal claims are equal in the database. Claims beyond the size limit are dropped. */
function claimsIn(document: ProfileDocument): ProfileClaims {
  let claims: ProfileClaims = {}
  for (const name of profileClaims) {
    const value = claimValue(name, document[name])
    if (value === null) continue
    const next = { ...claims, [name]: value }
    if (Buffer.byteLength(JSON.stringify(next)) <= maxClaimsBytes) claims = next
  }
  return claims
}

/** Never truncated: a truncated user name may be somebody else's. */
function claimValue(name: (typeof profileClaims)[number], value: unknown): string | null {
  if (name === 'profile' || name === 'website') return webAddress(value)
  // LinkedIn sends an object.
  if (name === 'locale' && isObject(value))
    return claimValue(name, [value['language'], value['country']].join('-'))
  const claim = typeof value === 'string' ? value.trim() : ''
  if (claim === '' || claim.length > maxClaimCharacters || !isStorableText(claim)) return null
  if (name === 'locale') return /^[a-z]{2,3}([-_][a-z0-9]{1,8})*$/i.test(claim) ? claim : null
  return name !== 'birthdate' || /^\d{4}(-\d\d-\d\d)?$/.test(claim) ? claim : null
}

/** Parses JSON. An integer beyond the safe range becomes a string of its digits, so that different ids stay different. */
export function parseProfile(json: string): ProfileDocument {
  const document: unknown = JSON.parse(json, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
      ? context?.source
      : value,
  )
  if (!isObject(document)) throw new UnusableProfile('the profile is not an object')
  return document
}

/** Unchanged or not at all: a cut address, or one without a character, is that of somebody else. */
function emailAddress(value: unknown): string | null {
  const address = typeof value === 'string' ? value.trim() : ''
  return address !== '' && address.length <= maxEmailCharacters && isStorableText(address) ? address : null
}

function text(value: unknown, maxCharacters: number): string | null {
  if (typeof value !== 'string') return null
  return storableText(storableText(value).trim(), maxCharacters) || null
}

/** Seconds that a provider's clock may differ: RFC 7519 allows for a few minutes at most. */
export const clockTolerance = 60
/** Milliseconds: for the provider's clock, and for rounding to seconds. */
const tolerance = clockTolerance * 1000
/** Characters of the stored `acr` and `amr` at most. */
const maxValuesCharacters = 500

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
 * After a request to reauthenticate, an `auth_time` that the provider should prove is rejected if it is invalid or too early. A
 * missing one is only `asserted`; accounts/sessions/recent-sign-in.ts decides whether that is enough.
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
  return text === '' || text.length > maxValuesCharacters ? null : text
}

/** The result of a code exchange whose checks all passed. */
export interface VerifiedIdentity {
  identity: ProviderIdentity
  /** Whether the groups of the identity alone decide on the role. */
  exclusiveRoles: boolean
  /** Whether a sign-in replaces the e-mail address and name of the user. Empty ones are filled in any case. */
  updateProfile: boolean
  authentication: Authentication
  /** The provider's profile as received; with OpenID Connect, the claims merged with the userinfo response. */
  profile: ProfileDocument
  /** For the provider's API; `undefined` for the id_token of a native app. */
  tokens: IssuedTokens | undefined
}
