import { createHash } from 'node:crypto'
import type { CryptoKey, JSONWebKeySet, JWK } from 'jose'
import type { Clock } from '../runtime/clock.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { sealedColumns } from '../crypto/sealed-columns.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { SigningKeysTable } from '../storage/tables.ts'
import type { AuditOrigin, RecordAudit } from './audit.ts'
import {
  deleteRetiredKeys,
  insertSuccessor,
  isValid,
  readCurrentSigningKeys,
  readSigningKeys,
  withSigningKeysLocked,
} from './signing-key-store.ts'

export const algorithm = 'ES256'

/** Milliseconds from the publication of a key to its first signature: longer than verifiers may cache the JWKS. */
const publicationLead = 3_600_000
/** Milliseconds that a key stays valid after its successor signs: longer than the lifetime of an access token. */
const overlap = 3_600_000
/** Seconds that verifiers may cache the JWKS. */
export const jwksMaxAge = 300
/** Milliseconds that loaded keys are used. Withdrawals are announced at once; planned rotations are seen after this time. */
const cacheTime = 5_000
/** Milliseconds between two reads for unknown key ids: anybody can send made-up ids. */
const unknownKeyInterval = 1_000
const contextOf = sealedColumns.signingKey.context
/** The topic of the announcement that keys were withdrawn. */
const topic = 'signing-keys'

interface LoadedKey {
  row: SigningKeysTable
  jwk: JWK
  publicKey: CryptoKey
}

interface LoadedKeys {
  keys: LoadedKey[]
  loadedAt: number
}

export interface SigningKeysParts {
  database: Database
  keyring: Keyring
  clock: Clock
  /** Milliseconds that a key signs before its successor replaces it. */
  rotation: number
  record: RecordAudit
}

/**
 * The keys that sign access tokens. They are created at the first use, stored with sealed private halves, shared by all
 * processes, and rotated on a schedule. jose is imported on use, so that a service without apps does not load it.
 */
export class SigningKeys {
  readonly #parts: SigningKeysParts
  #loaded: Promise<LoadedKeys> | undefined
  #signer: { kid: string; key: Promise<CryptoKey> } | undefined

  constructor(parts: SigningKeysParts) {
    this.#parts = parts
    parts.database.revocations.listen((announced) => {
      if (announced === undefined || announced === topic) this.#loaded = undefined
    })
  }

  /** The newest key that is active. */
  async signer(): Promise<{ kid: string; key: CryptoKey }> {
    const { keys } = await this.#current()
    const now = this.#parts.clock.now()
    const valid = keys.filter(({ row }) => isValid(row, now))
    // The clock of the process that created the only key may be ahead.
    const newest = valid.findLast(({ row }) => row.active_at <= now) ?? valid[0]
    if (!newest) throw new Error('there is no signing key')
    const { kid } = newest.row
    if (this.#signer?.kid !== kid) this.#signer = { kid, key: this.#open(newest.row) }
    return { kid, key: await this.#signer.key }
  }

  /** The public key of an id; `undefined` when there is no valid key with this id. */
  async publicKey(kid: string): Promise<CryptoKey | undefined> {
    const now = this.#parts.clock.now()
    const find = ({ keys }: LoadedKeys): CryptoKey | undefined =>
      keys.find(({ row }) => row.kid === kid && isValid(row, now))?.publicKey
    const loaded = await this.#current()
    const found = find(loaded)
    if (found || loaded.loadedAt > now - unknownKeyInterval) return found
    return find(await this.#load())
  }

  /** The public keys as a JWK Set (RFC 7517, section 5), and an entity tag of them. */
  async jwks(): Promise<JSONWebKeySet & { tag: string }> {
    const { keys } = await this.#current()
    const now = this.#parts.clock.now()
    const published = keys.filter(({ row }) => isValid(row, now)).map(({ jwk }) => jwk)
    const tag = createHash('sha256').update(JSON.stringify(published)).digest('base64url').slice(0, 22)
    return { keys: published, tag }
  }

  /**
   * Creates a key. Returns its id and when it starts to sign. `planned`: it is published now and signs in an hour; tokens of
   * older keys stay valid until they expire. `now`: it signs at once, and all tokens of older keys are refused.
   */
  async rotate(how: 'planned' | 'now', origin: AuditOrigin): Promise<{ kid: string; activeAt: number }> {
    const { database, clock } = this.#parts
    const row = await this.#newKey()
    const rotated = await withSigningKeysLocked(database, async (tx) => {
      const now = clock.now()
      const rows = await readSigningKeys(tx)
      const activeAt = how === 'now' || rows.length === 0 ? now : now + publicationLead
      const retiresAt = how === 'now' ? now : activeAt + overlap
      await insertSuccessor(tx, { ...row, active_at: activeAt }, retiresAt)
      await this.#recordRotation(tx, row.kid, activeAt, origin)
      if (how === 'now') {
        const withdrawn = rows.filter((each) => isValid(each, now))
        await this.#recordWithdrawals(tx, withdrawn, origin)
      }
      return { kid: row.kid, activeAt }
    })
    this.#loaded = undefined
    return rotated
  }

  /** Rotates when the newest key has signed for long enough. Without any key nothing happens: none was needed yet. */
  async rotateIfDue(now: number): Promise<void> {
    const { database } = this.#parts
    if (this.#isDue(await readSigningKeys(database.reader), now)) {
      const row = await this.#newKey()
      await withSigningKeysLocked(database, async (tx) => {
        // Another process may have rotated in the meantime.
        if (!this.#isDue(await readSigningKeys(tx), now)) return
        const activeAt = now + publicationLead
        await insertSuccessor(tx, { ...row, active_at: activeAt }, activeAt + overlap)
        await this.#recordRotation(tx, row.kid, activeAt, { actor: 'schedule' })
      })
      this.#loaded = undefined
    }
    await deleteRetiredKeys(database, now)
  }

  #isDue(rows: readonly SigningKeysTable[], now: number): boolean {
    const newest = rows.at(-1)
    return newest !== undefined && newest.active_at + this.#parts.rotation - publicationLead <= now
  }

  /**
   * Loaded keys are used only while this process is sure to hear of withdrawals. On SQLite it cannot hear of those by the
   * command line, so the few rows are read each time, which takes about a tenth of the time of verifying a signature.
   */
  async #current(): Promise<LoadedKeys> {
    const { database, clock } = this.#parts
    // Read this property in any case: it starts listening.
    if (!database.revocations.current) return this.#load()
    const loaded = await (this.#loaded ?? this.#load())
    return loaded.loadedAt > clock.now() - cacheTime ? loaded : this.#load()
  }

  #recordRotation(tx: Tx, kid: string, activeAt: number, origin: AuditOrigin): Promise<void> {
    const detail = { signsFrom: new Date(activeAt).toISOString() }
    return this.#parts.record(tx, { ...origin, action: 'signing_key.rotated', target: targetOf(kid), detail })
  }

  async #recordWithdrawals(tx: Tx, rows: readonly SigningKeysTable[], origin: AuditOrigin): Promise<void> {
    const { record, database } = this.#parts
    for (const { kid } of rows)
      await record(tx, { ...origin, action: 'signing_key.withdrawn', target: targetOf(kid) })
    await database.revocations.announce(tx, topic)
  }

  /** Concurrent calls share one read. A failed read is not cached. */
  #load(): Promise<LoadedKeys> {
    const loading = this.#read(this.#loaded)
    this.#loaded = loading
    loading.catch(() => {
      if (this.#loaded === loading) this.#loaded = undefined
    })
    return loading
  }

  async #read(previous: Promise<LoadedKeys> | undefined): Promise<LoadedKeys> {
    const { database, clock } = this.#parts
    const loadedAt = clock.now()
    let rows = await readCurrentSigningKeys(database)
    if (!rows.some((row) => isValid(row, loadedAt))) {
      await this.#createFirst()
      rows = await readCurrentSigningKeys(database)
    }
    // The callers of the previous read got its error.
    const known = (await previous?.catch(() => undefined))?.keys ?? []
    const keys: LoadedKey[] = []
    for (const row of rows) {
      // Of an imported key only the times can change.
      const same = known.find(({ row: { kid } }) => kid === row.kid)
      keys.push(same ? { ...same, row } : await importPublic(row))
    }
    return { keys, loadedAt }
  }

  async #open({ kid, private_jwk: sealed, algorithm }: SigningKeysTable): Promise<CryptoKey> {
    const { importJWK } = await import('jose')
    const privateJwk = this.#parts.keyring.open(sealed, contextOf({ kid })).toString()
    return (await importJWK(JSON.parse(privateJwk) as JWK, algorithm)) as CryptoKey
  }

  /** Many processes may start at once on an empty database. Under the lock, one of them creates the key. */
  async #createFirst(): Promise<void> {
    const { database, clock } = this.#parts
    const row = await this.#newKey()
    await withSigningKeysLocked(database, async (tx) => {
      const now = clock.now()
      const existing = await readSigningKeys(tx)
      if (!existing.some((key) => isValid(key, now)))
        await tx.insertInto('signing_keys').values(row).execute()
    })
  }

  async #newKey(): Promise<SigningKeysTable> {
    const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose')
    const { keyring, clock } = this.#parts
    const pair = await generateKeyPair(algorithm, { extractable: true })
    const publicJwk = await exportJWK(pair.publicKey)
    const kid = await calculateJwkThumbprint(publicJwk)
    const now = clock.now()
    return {
      kid,
      algorithm,
      public_jwk: JSON.stringify({ ...publicJwk, kid, alg: algorithm, use: 'sig' }),
      private_jwk: keyring.seal(JSON.stringify(await exportJWK(pair.privateKey)), contextOf({ kid })),
      created_at: now,
      active_at: now,
      retires_at: null,
    }
  }
}

async function importPublic(row: SigningKeysTable): Promise<LoadedKey> {
  const { importJWK } = await import('jose')
  const jwk = JSON.parse(row.public_jwk) as JWK
  return { row, jwk, publicKey: (await importJWK(jwk, row.algorithm)) as CryptoKey }
}

function targetOf(kid: string): string {
  return `signing-key:${kid}`
}
