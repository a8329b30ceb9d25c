import type { CryptoKey } from 'jose'
import type { SigningAlgorithm } from '../../crypto/signed-jwt.ts'
import type { SigningKeysTable } from '../../storage/tables.ts'
import {
  importPublicKey,
  newKeyRow,
  type LoadedKey,
  isValid,
  readCurrentSigningKeys,
  readSigningKeys,
  withSigningKeysLocked,
} from './signing-key-store.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** Signs access tokens, and the id_tokens of clients that ask for no other algorithm. */
export const defaultAlgorithm = 'ES256'
/** The topic of the announcement that keys were withdrawn. */
export const withdrawalTopic = 'signing-keys'
/** Milliseconds that loaded keys are used. Withdrawals are announced at once; planned rotations are seen after this time. */
const cacheTime = 5_000
/** Milliseconds between two reads for unknown key ids: anybody can send made-up ids. */
const unknownKeyInterval = 1_000

interface LoadedKeys {
  keys: LoadedKey[]
  loadedAt: number
}

/** The valid signing keys, loaded and imported. Creates the first key of an algorithm. */
export class SigningKeyCache {
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
  async newest(algorithm: SigningAlgorithm): Promise<SigningKeysTable> {
    const valid = await this.#validOf(algorithm)
    const now = this.#parts.clock.now()
    // The clock of the process that created the only key may be ahead.
    const newest = valid.findLast(({ row }) => row.active_at <= now) ?? valid[0]
    if (!newest) throw new Error(`there is no signing key for ${algorithm}`)
    return newest.row
  }

  async #validOf(algorithm: SigningAlgorithm): Promise<LoadedKey[]> {
    const ofAlgorithm = (keys: LoadedKey[]): LoadedKey[] =>
      keys.filter(({ row }) => row.algorithm === algorithm)
    const found = ofAlgorithm(await this.valid())
    if (found.length > 0) return found
    await this.#createFirst(algorithm)
    return ofAlgorithm((await this.#load()).keys)
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
export function algorithmsOf(rows: readonly SigningKeysTable[], now: number): SigningAlgorithm[] {
  const valid = rows.filter((row) => isValid(row, now))
  return [...new Set(valid.map(({ algorithm }) => algorithm as SigningAlgorithm))]
}
