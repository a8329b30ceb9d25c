import { sql } from 'kysely'
import type { CryptoKey, JSONWebKeySet, JWK } from 'jose'
import type { Clock } from '../clock.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Database } from '../storage/database.ts'
import type { SigningKeysTable } from '../storage/tables.ts'

export const algorithm = 'ES256'

interface LoadedKeys {
  signer: { kid: string; key: CryptoKey }
  publicKeys: ReadonlyMap<string, CryptoKey>
  jwks: JSONWebKeySet
  loadedAt: number
}

/** Milliseconds after which another process's new key is seen at the latest. */
const freshFor = 5 * 60_000
/** Milliseconds between two looks for a key that is not known: strangers can make up key ids. */
const lookAgainAfter = 5_000

/**
 * The keys that sign access tokens: made at the first use, kept in the database with the private half sealed, shared by
 * all processes. jose is loaded with them, so that a service without apps does not carry it.
 */
export class SigningKeys {
  readonly #database: Database
  readonly #keyring: Keyring
  readonly #clock: Clock
  #loaded: Promise<LoadedKeys> | undefined

  constructor(parts: { database: Database; keyring: Keyring; clock: Clock }) {
    this.#database = parts.database
    this.#keyring = parts.keyring
    this.#clock = parts.clock
  }

  async signer(): Promise<LoadedKeys['signer']> {
    return (await this.#current()).signer
  }

  /** The public key of an id; `undefined` when there is none. */
  async publicKey(kid: string): Promise<CryptoKey | undefined> {
    const loaded = await this.#current()
    const found = loaded.publicKeys.get(kid)
    if (found || loaded.loadedAt > this.#clock.now() - lookAgainAfter) return found
    return (await this.#load()).publicKeys.get(kid)
  }

  /** The public keys as published: RFC 7517, section 5. */
  async jwks(): Promise<JSONWebKeySet> {
    return (await this.#current()).jwks
  }

  async #current(): Promise<LoadedKeys> {
    const loaded = await (this.#loaded ?? this.#load())
    return loaded.loadedAt > this.#clock.now() - freshFor ? loaded : this.#load()
  }

  /** Several calls at once share one look; a failed one is not kept. */
  #load(): Promise<LoadedKeys> {
    const loading = this.#read()
    this.#loaded = loading
    loading.catch(() => {
      if (this.#loaded === loading) this.#loaded = undefined
    })
    return loading
  }

  async #read(): Promise<LoadedKeys> {
    let rows = await this.#rows()
    if (!rows.some((row) => row.retired_at === null)) {
      await this.#createOnce()
      rows = await this.#rows()
    }
    const { importJWK } = await import('jose')
    const newest = rows.findLast((row) => row.retired_at === null)
    if (!newest) throw new Error('no signing key could be made')
    const secret = JSON.parse(this.#keyring.open(newest.private_jwk, contextOf(newest.kid)).toString()) as JWK
    const published = rows.map((row) => JSON.parse(row.public_jwk) as JWK)
    const publicKeys = new Map<string, CryptoKey>()
    for (const jwk of published)
      publicKeys.set(String(jwk.kid), (await importJWK(jwk, algorithm)) as CryptoKey)
    return {
      signer: { kid: newest.kid, key: (await importJWK(secret, algorithm)) as CryptoKey },
      publicKeys,
      jwks: { keys: published },
      loadedAt: this.#clock.now(),
    }
  }

  async #rows(): Promise<SigningKeysTable[]> {
    return this.#database.reader
      .selectFrom('signing_keys')
      .selectAll()
      .orderBy('created_at')
      .orderBy('kid')
      .execute()
  }

  /** Many processes may start at once on an empty database: the table's lock lets one of them make the key. */
  async #createOnce(): Promise<void> {
    const row = await this.#newKey()
    await this.#database.transaction(async (tx) => {
      if (this.#database.engine === 'postgres')
        await sql`lock table signing_keys in share row exclusive mode`.execute(tx)
      const there = await tx
        .selectFrom('signing_keys')
        .select('kid')
        .where('retired_at', 'is', null)
        .execute()
      if (there.length === 0) await tx.insertInto('signing_keys').values(row).execute()
    })
  }

  async #newKey(): Promise<SigningKeysTable> {
    const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose')
    const pair = await generateKeyPair(algorithm, { extractable: true })
    const publicJwk = await exportJWK(pair.publicKey)
    const kid = await calculateJwkThumbprint(publicJwk)
    return {
      kid,
      algorithm,
      public_jwk: JSON.stringify({ ...publicJwk, kid, alg: algorithm, use: 'sig' }),
      private_jwk: this.#keyring.seal(JSON.stringify(await exportJWK(pair.privateKey)), contextOf(kid)),
      created_at: this.#clock.now(),
      retired_at: null,
    }
  }
}

function contextOf(kid: string): string {
  return `signing_keys:${kid}`
}
