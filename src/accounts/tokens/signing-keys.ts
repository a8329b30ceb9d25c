import { createHash, type KeyObject } from 'node:crypto'
import type { CryptoKey, JSONWebKeySet, JWTPayload } from 'jose'
import type { Keyring } from '../../crypto/keyring.ts'
import { type SigningAlgorithm, signJwt } from '../../crypto/signed-jwt.ts'
import type { Clock } from '../../runtime/clock.ts'
import { algorithmsOf, defaultAlgorithm, SigningKeyCache, withdrawalTopic } from './signing-key-cache.ts'
import {
  newKeyRow,
  openPrivateKey,
  deleteRetiredKeys,
  insertSuccessor,
  isValid,
  readSigningKeys,
  withSigningKeysLocked,
} from './signing-key-store.ts'
import type { Tx } from '../../storage/database.ts'
import type { SigningKeysTable } from '../../storage/tables.ts'
import type { AuditOrigin } from '../audit/audit.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { AccountBasis } from '../services.ts'
import type { ModuleParts } from '../../http/service-module.ts'

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

/** Milliseconds from the publication of a key to its first signature: longer than verifiers may cache the JWKS. */
const publicationLead = 3_600_000
/** Milliseconds that a key stays valid after its successor signs: the longest lifetime of an access token. */
const overlap = 3_600_000

interface SigningKeyRotationParts
  extends Pick<AccountBasis, 'database' | 'clock' | 'record'>, Pick<ModuleParts, 'keyring'> {
  /** Milliseconds that a key signs before its successor replaces it. */
  rotation: number
}

/** Replaces signing keys by new ones: on a schedule, by an operator, and at once where a key was stolen. */
class SigningKeyRotation {
  readonly #parts: SigningKeyRotationParts
  readonly #onRotated: () => void

  /** @param onRotated called after each rotation, before it is reported */
  constructor(parts: SigningKeyRotationParts, onRotated: () => void) {
    this.#parts = parts
    this.#onRotated = onRotated
  }

  /**
   * Creates a key. Returns its id and when it starts to sign. `planned`: it is published now and signs in an hour; tokens of
   * older keys stay valid until they expire. `now`: it signs at once, and tokens signed with older keys are rejected.
   */
  async rotate(how: 'planned' | 'now', origin: AuditOrigin): Promise<{ kid: string; activeAt: number }> {
    const { database, clock } = this.#parts
    const inUse = algorithmsOf(await readSigningKeys(database.reader), clock.now())
    const [first, ...others] = await Promise.all(
      [...new Set<SigningAlgorithm>([defaultAlgorithm, ...inUse])].map((one) => this.#newKey(one)),
    )
    const rotated = await withSigningKeysLocked(database, async (tx) => {
      const now = clock.now()
      const rows = await readSigningKeys(tx)
      const activeAt = how === 'now' || rows.length === 0 ? now : now + publicationLead
      // Not `now`: the clocks of other processes may be behind, and would accept the keys until then.
      const retiresAt = how === 'now' ? 0 : activeAt + overlap
      for (const row of [first!, ...others]) {
        await insertSuccessor(tx, { ...row, active_at: activeAt }, retiresAt)
        await this.#recordRotation(tx, row.kid, activeAt, origin)
      }
      if (how === 'now') {
        const withdrawn = rows.filter((each) => isValid(each, now))
        await this.#recordWithdrawals(tx, withdrawn, origin)
      }
      return { kid: first!.kid, activeAt }
    })
    this.#onRotated()
    return rotated
  }

  /** Rotates when the newest key of an algorithm has signed for long enough. An algorithm without a key needed none yet. */
  async rotateIfDue(now: number): Promise<void> {
    const { database } = this.#parts
    for (const algorithm of this.#dueAlgorithms(await readSigningKeys(database.reader), now)) {
      const row = await this.#newKey(algorithm)
      await withSigningKeysLocked(database, async (tx) => {
        // Another process may have rotated in the meantime.
        if (!this.#dueAlgorithms(await readSigningKeys(tx), now).includes(algorithm)) return
        const activeAt = now + publicationLead
        await insertSuccessor(tx, { ...row, active_at: activeAt }, activeAt + overlap)
        await this.#recordRotation(tx, row.kid, activeAt, { actor: 'schedule' })
      })
      this.#onRotated()
    }
    await deleteRetiredKeys(database, now)
  }

  #dueAlgorithms(rows: readonly SigningKeysTable[], now: number): SigningAlgorithm[] {
    return algorithmsOf(rows, now).filter((algorithm) => {
      const newest = rows.findLast((row) => row.algorithm === algorithm)!
      return newest.active_at + this.#parts.rotation - publicationLead <= now
    })
  }

  #recordRotation(tx: Tx, kid: string, activeAt: number, origin: AuditOrigin): Promise<void> {
    const detail = { signsFrom: isoTime(activeAt) }
    return this.#parts.record(tx, { ...origin, action: 'signing_key.rotated', target: targetOf(kid), detail })
  }

  async #recordWithdrawals(tx: Tx, rows: readonly SigningKeysTable[], origin: AuditOrigin): Promise<void> {
    const { record, database } = this.#parts
    for (const { kid } of rows)
      await record(tx, { ...origin, action: 'signing_key.withdrawn', target: targetOf(kid) })
    await database.revocations.announce(tx, withdrawalTopic)
  }

  #newKey(algorithm: SigningAlgorithm): Promise<SigningKeysTable> {
    return newKeyRow(this.#parts.keyring, algorithm, this.#parts.clock.now())
  }
}

function targetOf(kid: string): string {
  return `signing-key:${kid}`
}
