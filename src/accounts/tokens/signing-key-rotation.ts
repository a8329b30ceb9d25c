import type { Keyring } from '../../crypto/keyring.ts'
import type { SigningAlgorithm } from '../../crypto/signed-jwt.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database, Tx } from '../../storage/database.ts'
import type { SigningKeysTable } from '../../storage/tables.ts'
import type { AuditOrigin, RecordAudit } from '../audit/audit.ts'
import { algorithmsOf, defaultAlgorithm, withdrawalTopic } from './signing-key-cache.ts'
import { newKeyRow } from './signing-key-material.ts'
import {
  deleteRetiredKeys,
  insertSuccessor,
  isValid,
  readSigningKeys,
  withSigningKeysLocked,
} from './signing-key-store.ts'
import { isoTime } from '../../runtime/iso-time.ts'

/** Milliseconds from the publication of a key to its first signature: longer than verifiers may cache the JWKS. */
const publicationLead = 3_600_000
/** Milliseconds that a key stays valid after its successor signs: the longest lifetime of an access token. */
const overlap = 3_600_000

export interface SigningKeyRotationParts {
  database: Database
  keyring: Keyring
  clock: Clock
  /** Milliseconds that a key signs before its successor replaces it. */
  rotation: number
  record: RecordAudit
}

/** Replaces signing keys by new ones: on a schedule, by an operator, and at once where a key was stolen. */
export class SigningKeyRotation {
  readonly #parts: SigningKeyRotationParts
  readonly #onRotated: () => void

  /** @param onRotated called after each rotation, before it is reported */
  constructor(parts: SigningKeyRotationParts, onRotated: () => void) {
    this.#parts = parts
    this.#onRotated = onRotated
  }

  /**
   * Creates a key. Returns its id and when it starts to sign. `planned`: it is published now and signs in an hour; tokens of
   * older keys stay valid until they expire. `now`: it signs at once, and all tokens of older keys are refused.
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
