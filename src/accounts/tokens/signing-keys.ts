import { createHash, type KeyObject, createPrivateKey, type JsonWebKeyInput } from 'node:crypto'
import type { CryptoKey, JSONWebKeySet, JWTPayload, JWK } from 'jose'
import { type SigningAlgorithm, signJwt } from '../../crypto/signed-jwt.ts'
import type { Tx, Database, Queryable } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import type { AuditOrigin } from '../audit/audit.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { AccountBasis } from '../services.ts'
import type { ModuleParts } from '../../http/service-module.ts'
import { sql } from 'kysely'
import { type Keyring, sealedColumns } from '../../crypto/keyring.ts'

/** Signs access tokens, and the id_tokens of clients that ask for no other algorithm. */
const defaultAlgorithm = 'ES256'
/** The topic of the announcement that keys were withdrawn. */
const withdrawalTopic = 'signing-keys'
/** Milliseconds that loaded keys are used. Withdrawals are announced at once; planned rotations are seen after this time. */
const cacheTime = 5_000
/** Milliseconds between two reads for unknown key ids: anybody can send made-up ids. */
const unknownKeyInterval = 1_000

interface LoadedKeys {
  keys: LoadedKey[]
  loadedAt: number
}

/** The valid signing keys, loaded and imported. Creates the first key of an algorithm. */
class SigningKeyCache {
  readonly #parts: Pick<ModuleParts, 'database' | 'clock' | 'keyring'>
  #loaded: Promise<LoadedKeys> | undefined
  /** Their keys are there before one of them signs. */
  readonly #published = new Set<SigningAlgorithm>([defaultAlgorithm])

  constructor(parts: Pick<ModuleParts, 'database' | 'clock' | 'keyring'>) {
    this.#parts = parts
    parts.database.revocations.listen((announced) => {
      if (announced === undefined || announced === withdrawalTopic) this.clear()
    })
  }

  /** Reads the keys again at the next use. */
  clear(): void {
    this.#loaded = undefined
  }

  /**
   * Publishes keys of these algorithms with the next read. Otherwise the first token of one would come with its key, and a verifier that has
   * just cached the keys would refuse it.
   */
  publish(algorithms: Iterable<SigningAlgorithm>): void {
    const before = this.#published.size
    for (const algorithm of algorithms) this.#published.add(algorithm)
    if (this.#published.size > before) this.clear()
  }

  /** All valid keys, in the order in which they start to sign. */
  async valid(): Promise<LoadedKey[]> {
    const { keys } = await this.#current()
    const now = this.#parts.clock.now()
    return keys.filter(({ row }) => isValid(row, now))
  }

  /** The newest key of an algorithm that is active. The first one is created at its first use. */
  async newest(algorithm: SigningAlgorithm): Promise<Row<'signing_keys'>> {
    this.publish([algorithm])
    const valid = (await this.valid()).filter(({ row }) => row.algorithm === algorithm)
    const now = this.#parts.clock.now()
    // The clock of the process that created the only key may be ahead.
    const newest = valid.findLast(({ row }) => row.active_at <= now) ?? valid[0]
    if (!newest) throw new Error(`there is no signing key for ${algorithm}`)
    return newest.row
  }

  /**
   * The public key of an id; `undefined` when there is no valid key with this id.
   * @param algorithm in the header of the token: jose throws a TypeError for a key of another algorithm
   */
  async publicKey(kid: string, algorithm: string | undefined): Promise<CryptoKey | undefined> {
    const now = this.#parts.clock.now()
    const find = ({ keys }: LoadedKeys): CryptoKey | undefined =>
      keys.find(({ row }) => row.kid === kid && row.algorithm === algorithm && isValid(row, now))?.publicKey
    const loaded = await this.#current()
    const found = find(loaded)
    if (found || loaded.loadedAt > now - unknownKeyInterval) return found
    return find(await this.#load())
  }

  /**
   * Loaded keys are used only while this process is sure to hear of withdrawals. On SQLite it cannot hear of those by the
   * command line, so the few rows are read each time, which takes about a tenth of the time of verifying a signature.
   */
  async #current(): Promise<LoadedKeys> {
    const { database, clock } = this.#parts
    // Read this property in any case: it starts listening.
    if (!database.revocations.current) return this.#load()
    const pending = this.#loaded ?? this.#load()
    const loaded = await pending
    if (loaded.loadedAt > clock.now() - cacheTime) return loaded
    // Those that waited for the same read share the next one.
    return this.#loaded === undefined || this.#loaded === pending ? this.#load() : this.#loaded
  }

  /** Starts a read, which later calls share. A failed read is not cached. */
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
    const existing = algorithmsOf(rows, loadedAt)
    const missing = [...this.#published].filter((algorithm) => !existing.includes(algorithm))
    if (missing.length > 0) {
      for (const algorithm of missing) await this.#createFirst(algorithm)
      rows = await readCurrentSigningKeys(database)
    }
    // The callers of the previous read got its error.
    const known = (await previous?.catch(() => undefined))?.keys ?? []
    const keys: LoadedKey[] = []
    for (const row of rows) {
      // Of an imported key only the times can change.
      const same = known.find(({ row: { kid } }) => kid === row.kid)
      keys.push(same ? { ...same, row } : await importPublicKey(row))
    }
    return { keys, loadedAt }
  }

  /** Many processes may start at once on an empty database. Under the lock, one of them creates the key. */
  async #createFirst(algorithm: SigningAlgorithm): Promise<void> {
    const { database, keyring, clock } = this.#parts
    const row = await newKeyRow(keyring, algorithm, clock.now())
    await withSigningKeysLocked(database, async (tx) => {
      const now = clock.now()
      const existing = await readSigningKeys(tx)
      if (!existing.some((key) => key.algorithm === algorithm && isValid(key, now)))
        await tx.insertInto('signing_keys').values(row).execute()
    })
  }
}

/** The algorithms of the valid keys. */
function algorithmsOf(rows: readonly Row<'signing_keys'>[], now: number): SigningAlgorithm[] {
  const valid = rows.filter((row) => isValid(row, now))
  return [...new Set(valid.map(({ algorithm }) => algorithm as SigningAlgorithm))]
}

/** Seconds that verifiers may cache the JWKS: the longest time for which they take a withdrawn key. */
export const jwksMaxAge = 300
/** Seconds after its expiry that an id_token is accepted as a hint: longer than any session. The deletion of its key ends that earlier. */
const longestHint = 10 * 365 * 86_400

/** Milliseconds from the publication of a key to its first signature: longer than verifiers may cache the JWKS. */
const publicationLead = 3_600_000
/** Milliseconds that a key stays valid after its successor signs: the longest lifetime of an access token. */
const overlap = 3_600_000

interface SigningKeysParts
  extends Pick<AccountBasis, 'database' | 'clock' | 'record'>, Pick<ModuleParts, 'keyring'> {
  /** Milliseconds that a key signs before its successor replaces it. */
  rotation: number
}

/**
 * The keys that sign tokens: a line of keys for each algorithm that an app asks for. They are created at their first use, stored with
 * sealed private halves, shared by all processes, and rotated on a schedule. jose is imported on use, so that a service without apps
 * does not load it.
 */
export class SigningKeys {
  readonly #parts: SigningKeysParts
  readonly #cache: SigningKeyCache
  readonly #signers = new Map<string, { kid: string; key: KeyObject }>()

  constructor(parts: SigningKeysParts) {
    this.#parts = parts
    this.#cache = new SigningKeyCache(parts)
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
        currentDate: new Date(this.#parts.clock.now()),
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
    const signer = { kid: row.kid, key: openPrivateKey(this.#parts.keyring, row) }
    this.#signers.set(algorithm, signer)
    return signer
  }

  /** The public keys as a JWK Set (RFC 7517, section 5), and an entity tag of them. */
  async jwks(): Promise<JSONWebKeySet & { tag: string }> {
    const published = (await this.#cache.valid()).map(({ jwk }) => jwk)
    const tag = createHash('sha256').update(JSON.stringify(published)).digest('base64url').slice(0, 22)
    return { keys: published, tag }
  }

  /**
   * Creates a key. Returns its id and when it starts to sign. `planned`: it is published now and signs in an hour; tokens of
   * older keys stay valid until they expire. `now`: it signs at once, and tokens signed with older keys are rejected.
   */
  async rotate(how: 'planned' | 'now', origin: AuditOrigin): Promise<{ kid: string; activeAt: number }> {
    const { database, clock, record } = this.#parts
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
      for (const row of [first!, ...others])
        await this.#succeed(tx, { ...row, active_at: activeAt }, retiresAt, origin)
      if (how === 'now') {
        for (const { kid } of rows.filter((row) => isValid(row, now)))
          await record(tx, { ...origin, action: 'signing_key.withdrawn', target: `signing-key:${kid}` })
        await database.revocations.announce(tx, withdrawalTopic)
      }
      return { kid: first!.kid, activeAt }
    })
    this.#cache.clear()
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
        await this.#succeed(tx, { ...row, active_at: activeAt }, activeAt + overlap, { actor: 'schedule' })
      })
      this.#cache.clear()
    }
    await deleteRetiredKeys(database, now)
  }

  #dueAlgorithms(rows: readonly Row<'signing_keys'>[], now: number): SigningAlgorithm[] {
    return algorithmsOf(rows, now).filter((algorithm) => {
      const newest = rows.findLast((row) => row.algorithm === algorithm)!
      return newest.active_at + this.#parts.rotation - publicationLead <= now
    })
  }

  /** Inserts a key that replaces those of its algorithm. */
  async #succeed(tx: Tx, row: Row<'signing_keys'>, retiresAt: number, origin: AuditOrigin): Promise<void> {
    await insertSuccessor(tx, row, retiresAt)
    const entry = { ...origin, action: 'signing_key.rotated', target: `signing-key:${row.kid}` } as const
    await this.#parts.record(tx, { ...entry, detail: { signsFrom: isoTime(row.active_at) } })
  }

  #newKey(algorithm: SigningAlgorithm): Promise<Row<'signing_keys'>> {
    return newKeyRow(this.#parts.keyring, algorithm, this.#parts.clock.now())
  }
}

const contextOf = sealedColumns.signingKey.context

/** A key with its imported public half. */
type LoadedKey = Awaited<ReturnType<typeof importPublicKey>>

/** A new key pair as a row, active from `now`. RSA keys have 2048 bits. */
async function newKeyRow(keyring: Keyring, algorithm: string, now: number): Promise<Row<'signing_keys'>> {
  const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose')
  const pair = await generateKeyPair(algorithm, { extractable: true })
  const publicJwk = await exportJWK(pair.publicKey)
  const kid = await calculateJwkThumbprint(publicJwk)
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

async function importPublicKey(row: Row<'signing_keys'>) {
  const { importJWK } = await import('jose')
  const jwk = JSON.parse(row.public_jwk) as JWK
  return { row, jwk, publicKey: (await importJWK(jwk, row.algorithm)) as CryptoKey }
}

function openPrivateKey(keyring: Keyring, { kid, private_jwk: sealed }: Row<'signing_keys'>): KeyObject {
  const privateJwk = keyring.open(sealed, contextOf({ kid })).toString()
  return createPrivateKey({ key: JSON.parse(privateJwk) as JsonWebKeyInput['key'], format: 'jwk' })
}

/** All keys, in the order in which they start to sign. */
function readSigningKeys(db: Queryable): Promise<Row<'signing_keys'>[]> {
  return db.selectFrom('signing_keys').selectAll().orderBy('active_at').orderBy('kid').execute()
}

/** The same in one synchronous read on SQLite, where it happens at each request. */
async function readCurrentSigningKeys(database: Database): Promise<Row<'signing_keys'>[]> {
  if (database.engine === 'postgres') return readSigningKeys(database.reader)
  return database.readConnection.all<Row<'signing_keys'>>(
    'select * from signing_keys order by active_at, kid',
  )
}

/** Runs `work` in a transaction that no other change of the keys runs beside. */
function withSigningKeysLocked<T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  return database.transaction(async (tx) => {
    if (database.engine === 'postgres')
      await sql`lock table signing_keys in share row exclusive mode`.execute(tx)
    return work(tx)
  })
}

/** Inserts a key. All others of its algorithm retire at `retiresAt`, unless they retire earlier. */
async function insertSuccessor(tx: Tx, row: Row<'signing_keys'>, retiresAt: number): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({ retires_at: retiresAt })
    .where('algorithm', '=', row.algorithm)
    .where((eb) => eb.or([eb('retires_at', 'is', null), eb('retires_at', '>', retiresAt)]))
    .execute()
  await tx.insertInto('signing_keys').values(row).execute()
}

async function deleteRetiredKeys(database: Database, now: number): Promise<void> {
  await database.inBackground((tx) => tx.deleteFrom('signing_keys').where('retires_at', '<=', now).execute())
}

/** Whether tokens of this key are accepted. */
function isValid({ retires_at: retiresAt }: Row<'signing_keys'>, now: number): boolean {
  return retiresAt === null || retiresAt > now
}
