import { createHash } from 'node:crypto'
import type { SigningKeys } from '../../accounts/tokens/signing-keys.ts'
import type { SigningAlgorithm } from '../../crypto/signed-jwt.ts'
import type { Family } from '../../accounts/tokens/token-families.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Client } from '../clients/client.ts'
import { signingAlgorithms } from '../clients/client.ts'
import type { UserClaims } from '../user-claims.ts'

/** Seconds that an id_token is valid: clients read it once, when they get it. */
const lifetime = 15 * 60

export interface IdTokenParts {
  keys: SigningKeys
  clock: Clock
  baseUrl: () => string
  userClaims: UserClaims
}

/** The claims of an id_token that name its session, as a hint of a sign-out. */
export interface IdTokenHint {
  userId: string
  clientId: string
  familyId: string
}

/** The id_tokens of OpenID Connect Core, section 2. */
export class IdTokens {
  readonly #parts: IdTokenParts

  constructor(parts: IdTokenParts) {
    this.#parts = parts
  }

  /**
   * Signs the id_token of a sign-in.
   * @param nonce of the authorization request; null at a refresh, and when there was none
   */
  async issue(
    client: Client,
    family: Family,
    more: { nonce: string | null; accessToken: string },
  ): Promise<string> {
    const { keys, clock, baseUrl, userClaims } = this.#parts
    const { userId, provider, familyId, authenticatedAt, acr, amr, scope } = family
    const algorithm = client.idTokenAlgorithm
    const now = Math.floor(clock.now() / 1000)
    return keys.sign(
      {
        ...(await userClaims.of({ userId, provider }, scope ?? '')),
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
      },
      { typ: 'JWT', algorithm },
    )
  }

  /** The session that a hint names, also of an expired id_token; `undefined` when this service did not issue it. */
  async readHint(token: string): Promise<IdTokenHint | undefined> {
    const claims = await this.#parts.keys.verify(token, {
      issuer: this.#parts.baseUrl(),
      typ: 'JWT',
      algorithms: signingAlgorithms,
      evenExpired: true,
    })
    const { sub, aud, sid } = claims ?? {}
    if (typeof sub !== 'string' || typeof aud !== 'string' || typeof sid !== 'string') return undefined
    return { userId: sub, clientId: aud, familyId: sid }
  }

  /** Whether a hint that `readHint` does not accept may be of this service: keys are deleted after a rotation, hints are not. */
  mayBeOfDeletedKey(token: string): Promise<boolean> {
    return this.#parts.keys.namesUnknownKey(token, this.#parts.baseUrl())
  }
}

/** `at_hash`: the left half of the hash that the signature uses (OpenID Connect Core, section 3.1.3.6). EdDSA: SHA-512. */
function accessTokenHash(accessToken: string, algorithm: SigningAlgorithm): string {
  const hash = createHash(algorithm === 'EdDSA' ? 'sha512' : 'sha256')
    .update(accessToken)
    .digest()
  return hash.subarray(0, hash.length / 2).toString('base64url')
}
