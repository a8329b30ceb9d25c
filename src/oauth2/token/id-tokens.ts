import { createHash } from 'node:crypto'
import type { SigningAlgorithm } from '../../crypto/signed-jwt.ts'
import type { Family } from '../../accounts/tokens/token-families.ts'
import { type Client, signingAlgorithms } from '../clients/client.ts'
import { profileClaims } from '../../accounts/users/user-profile.ts'
import type { OAuth2Basis } from '../services.ts'

/** Seconds that an id_token is valid: clients read it once, when they get it. */
const lifetime = 15 * 60

/** The claims of an id_token that name its session, as a hint of a sign-out. */
export interface IdTokenHint {
  userId: string
  clientId: string
  familyId: string
}

/**
 * Signs the id_token of a sign-in (OpenID Connect Core, section 2).
 * @param more.nonce of the authorization request; null at a refresh, and when there was none
 * @param more.own see ownClaims
 */
export async function issueIdToken(
  parts: OAuth2Basis,
  client: Client,
  family: Family,
  more: { nonce: string | null; accessToken: string; own: Readonly<Record<string, unknown>> },
): Promise<string> {
  const { signingKeys: keys, clock, baseUrl } = parts
  const { userId, provider, familyId, authenticatedAt, amr, scope, impersonatorId } = family
  const algorithm = client.idTokenAlgorithm
  const asked = readStoredClaims(client, family.claims)
  const ofScopes = client.idTokenClaims === 'minimal' ? '' : (scope ?? '')
  const acr = asked.acr ?? family.acr
  const now = Math.floor(clock.now() / 1000)
  return keys.sign(
    {
      ...more.own,
      ...(await userClaims(parts, { userId, provider }, ofScopes, asked.idToken)),
      iss: baseUrl(),
      sub: userId,
      aud: client.id,
      iat: now,
      exp: now + lifetime,
      ...(authenticatedAt !== undefined && { auth_time: Math.floor(authenticatedAt / 1000) }),
      sid: familyId,
      at_hash: accessTokenHash(more.accessToken, algorithm),
      ...(more.nonce !== null && { nonce: more.nonce }),
      ...(acr !== null && { acr }),
      ...(amr !== null && { amr: amr.split(' ') }),
      ...(impersonatorId !== null && { act: { sub: impersonatorId } }),
    },
    { typ: 'JWT', algorithm },
  )
}

/** The session that a hint names, also of an expired id_token; `undefined` when this service did not issue it. */
export async function readHint(
  { signingKeys, baseUrl }: Pick<OAuth2Basis, 'signingKeys' | 'baseUrl'>,
  token: string,
): Promise<IdTokenHint | undefined> {
  const claims = await signingKeys.verify(token, {
    issuer: baseUrl(),
    typ: 'JWT',
    algorithms: signingAlgorithms,
    evenExpired: true,
  })
  const { sub, aud, sid } = claims ?? {}
  if (typeof sub !== 'string' || typeof aud !== 'string' || typeof sid !== 'string') return undefined
  return { userId: sub, clientId: aud, familyId: sid }
}

/** `at_hash`: the left half of the hash that the signature uses (OpenID Connect Core, section 3.1.3.6). EdDSA: SHA-512. */
function accessTokenHash(accessToken: string, algorithm: SigningAlgorithm): string {
  const hash = createHash(algorithm === 'EdDSA' ? 'sha512' : 'sha256')
    .update(accessToken)
    .digest()
  return hash.subarray(0, hash.length / 2).toString('base64url')
}

/** The claims about a user that each scope gives (OpenID Connect Core, section 5.4). `groups` is of this service. */
export const claimsByScope: Readonly<Record<string, readonly string[]>> = {
  profile: ['name', 'picture', ...profileClaims, 'updated_at'],
  email: ['email', 'email_verified'],
  groups: ['groups'],
}

/** The claims of scopes that the client may request: naming claims individually must not get it more. */
export function claimsWithin({ scopes }: Pick<Client, 'scopes'>, names: readonly string[]): string[] {
  const claims = Object.entries(claimsByScope).flatMap(([scope, ofScope]) =>
    scopes.includes(scope) ? ofScope : [],
  )
  return claims.filter((claim) => names.includes(claim))
}

/** The part of a request that its tokens need. */
export interface StoredClaims {
  userinfo: readonly string[]
  idToken: readonly string[]
  /** The result of `acr_values`, or of `acr` in the parameter `claims`. */
  acr?: string
}

/** The stored claims that the client may still request. */
export function readStoredClaims(client: Client, stored: string | null): StoredClaims {
  if (stored === null) return { userinfo: [], idToken: [] }
  const { userinfo, idToken, ...acr } = JSON.parse(stored) as StoredClaims
  return { userinfo: claimsWithin(client, userinfo), idToken: claimsWithin(client, idToken), ...acr }
}

/**
 * The claims about a user that the scopes give, for id_tokens and the userinfo endpoint. A claim without a value is missing.
 * `email_verified` is what the provider asserted, and `groups` are those of the provider of the sign-in.
 * @param scope separated by spaces
 * @param extra names of claims to add to those of the scopes; unknown ones are ignored
 */
export async function userClaims(
  { users, database }: Pick<OAuth2Basis, 'users' | 'database'>,
  { userId, provider }: { userId: string; provider: string },
  scope: string,
  extra: readonly string[] = [],
): Promise<Record<string, unknown>> {
  const scopes = new Set(scope.split(' '))
  const names = Object.entries(claimsByScope).flatMap(([name, claims]) =>
    claims.filter((claim) => scopes.has(name) || extra.includes(claim)),
  )
  if (names.length === 0) return {}
  const profile = await users.profile(database.reader, userId, provider)
  if (!profile) return {}
  const values: Record<string, unknown> = {
    ...profile.claims,
    name: profile.name,
    picture: profile.picture,
    updated_at: profile.updatedAt === null ? null : Math.floor(profile.updatedAt / 1000),
    email: profile.email,
    email_verified: profile.email === null ? null : profile.emailVerified,
    groups: profile.groups,
  }
  return Object.fromEntries(
    names.filter((name) => (values[name] ?? null) !== null).map((name) => [name, values[name]]),
  )
}
