import { createHash, type KeyObject } from 'node:crypto'
import type { CryptoKey, JSONWebKeySet, JWTPayload } from 'jose'
import type { Keyring } from '../../crypto/keyring.ts'
import { signJwt, type SigningAlgorithm } from '../../crypto/signed-jwt.ts'
import type { Clock } from '../../runtime/clock.ts'
import { defaultAlgorithm, SigningKeyCache } from './signing-key-cache.ts'
import { openPrivateKey } from './signing-key-material.ts'
import { SigningKeyRotation, type SigningKeyRotationParts } from './signing-key-rotation.ts'

/** Seconds that verifiers may cache the JWKS: the longest time for which they take a withdrawn key. */
export const jwksMaxAge = 300
/** Seconds after its expiry that an id_token is accepted as a hint: longer than any session. The deletion of its key ends that earlier. */
const longestHint = 10 * 365 * 86_400

/**
 * The keys that sign tokens: a line of keys for each algorithm that an app asks for. They are created at their first use, stored with
 * sealed private halves, shared by all processes, and rotated on a schedule. jose is imported on use, so that a service without apps
 * does not load it.
 */
export class SigningKeys {
  readonly rotation: SigningKeyRotation
  readonly #cache: SigningKeyCache
  readonly #clock: Clock
  readonly #keyring: Keyring
  readonly #signers = new Map<string, { kid: string; key: KeyObject }>()

  constructor(parts: SigningKeyRotationParts) {
    this.#clock = parts.clock
    this.#keyring = parts.keyring
    this.#cache = new SigningKeyCache(parts)
    this.rotation = new SigningKeyRotation(parts, () => this.#cache.clear())
  }

  /** Publishes keys of these algorithms before one of them signs. */
  publish(algorithms: Iterable<SigningAlgorithm>): void {
    this.#cache.publish(algorithms)
  }

  /**
   * Signs claims as a JWT in compact form.
   * @param typ the type in the header (RFC 8725, section 3.11)
   */
  async sign(
    claims: JWTPayload,
    { typ, algorithm = defaultAlgorithm }: { typ: string; algorithm?: SigningAlgorithm },
  ): Promise<string> {
    const { kid, key } = await this.#signer(algorithm)
    return signJwt({ alg: algorithm, typ, kid }, claims, key)
  }

  /**
   * The claims of a token that this service signed; `undefined` when it did not, or when its type, its audience or its time
   * is wrong.
   * @param algorithms those that the type of token is signed with; default ES256
   * @param evenExpired accepts an expired token: a hint names a session, and proves nothing else
   */
  async verify(
    token: string,
    checks: {
      issuer: string
      typ: string
      audience?: string[]
      algorithms?: readonly SigningAlgorithm[]
      evenExpired?: boolean
    },
  ): Promise<JWTPayload | undefined> {
    const { errors, jwtVerify } = await import('jose')
    const { issuer, typ, audience, algorithms = [defaultAlgorithm], evenExpired = false } = checks
    const keyOf = async ({ kid, alg }: { kid?: string; alg?: string }): Promise<CryptoKey> => {
      const key = kid === undefined ? undefined : await this.#cache.publicKey(kid, alg)
      if (!key) throw new errors.JWKSNoMatchingKey()
      return key
    }
    try {
      const { payload } = await jwtVerify(token, keyOf, {
        algorithms: [...algorithms],
        typ,
        issuer,
        ...(audience && { audience }),
        requiredClaims: ['exp'],
        ...(evenExpired && { clockTolerance: longestHint }),
        currentDate: new Date(this.#clock.now()),
      })
      return payload
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined
      throw error
    }
  }

  /** Whether a token claims to be signed by a key of this service that does not exist, for example one that was deleted. */
  async namesUnknownKey(token: string, issuer: string): Promise<boolean> {
    const { errors, decodeJwt, decodeProtectedHeader } = await import('jose')
    try {
      const { kid, alg } = decodeProtectedHeader(token)
      if (kid === undefined || decodeJwt(token).iss !== issuer) return false
      return (await this.#cache.publicKey(kid, alg)) === undefined
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) return false
      throw error
    }
  }

  async #signer(algorithm: SigningAlgorithm): Promise<{ kid: string; key: KeyObject }> {
    const row = await this.#cache.newest(algorithm)
    const known = this.#signers.get(algorithm)
    if (known?.kid === row.kid) return known
    const signer = { kid: row.kid, key: openPrivateKey(this.#keyring, row) }
    this.#signers.set(algorithm, signer)
    return signer
  }

  /** The public keys as a JWK Set (RFC 7517, section 5), and an entity tag of them. */
  async jwks(): Promise<JSONWebKeySet & { tag: string }> {
    const published = (await this.#cache.valid()).map(({ jwk }) => jwk)
    const tag = createHash('sha256').update(JSON.stringify(published)).digest('base64url').slice(0, 22)
    return { keys: published, tag }
  }
}
