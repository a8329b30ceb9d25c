import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { CryptoKey, JSONWebKeySet, JWK } from 'jose'
import type { Clock } from '../runtime/clock.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { sealedColumns } from '../crypto/sealed-columns.ts'
import type { Database, Queryable, Tx } from '../storage/database.ts'
import type { SigningKeysTable } from '../storage/tables.ts'
import type { AuditOrigin, RecordAudit } from './audit.ts'

export const algorithm = 'ES256'

/** Milliseconds that a key is published before it signs: longer than anybody should keep the published keys. */
const publishedBefore = 3_600_000
/** Milliseconds that a key is still good after its successor signs: longer than an access token lives. */
const overlap = 3_600_000
/** Seconds that the published keys may be kept. */
export const jwksMaxAge = 300
/** Milliseconds after which another process's planned rotation is seen at the latest; a withdrawal is heard at once. */
const freshFor = 5_000
/** Milliseconds between two looks for a key that is not known: strangers can make up key ids. */
const lookAgainAfter = 1_000
const contextOf = sealedColumns.signingKey.context
/** What is announced when keys are withdrawn. */
const subject = 'signing-keys'

interface LoadedKey {
  row: SigningKeysTable
  jwk: JWK
  publicKey: CryptoKey
}

interface LoadedKeys {
  keys: LoadedKey[]
  loadedAt: number
}

/**
 * The keys that sign access tokens: made at the first use, kept in the database with the private half sealed, shared by
 * all processes, replaced on a schedule. jose is loaded with them, so that a service without apps does not carry it.
 */
export class SigningKeys {
  readonly #database: Database
  readonly #keyring: Keyring
  readonly #clock: Clock
  readonly #rotation: number
  readonly #record: RecordAudit
  #loaded: Promise<LoadedKeys> | undefined
  #signer: { kid: string; key: Promise<CryptoKey> } | undefined

  /** @param parts.rotation milliseconds that a key signs before the next one takes over. */
  constructor(parts: {
    database: Database
    keyring: Keyring
    clock: Clock
    rotation: number
    record: RecordAudit
  }) {
    this.#record = parts.record
    this.#database = parts.database
    this.#keyring = parts.keyring
    this.#clock = parts.clock
    this.#rotation = parts.rotation
    this.#database.revocations.listen((announced) => {
      if (announced === undefined || announced === subject) this.#loaded = undefined
    })
  }

  /** The newest key that may sign already. */
  async signer(): Promise<{ kid: string; key: CryptoKey }> {
    const { keys } = await this.#current()
    const now = this.#clock.now()
    const good = keys.filter(({ row }) => isGood(row, now))
    // The clock of who made the only key may be ahead of ours.
    const newest = good.findLast(({ row }) => row.active_at <= now) ?? good[0]
    if (!newest) throw new Error('there is no signing key')
    const { kid } = newest.row
    if (this.#signer?.kid !== kid) this.#signer = { kid, key: this.#open(newest.row) }
    return { kid, key: await this.#signer.key }
  }

  /** The public key of an id; `undefined` when there is none that is still good. */
  async publicKey(kid: string): Promise<CryptoKey | undefined> {
    const now = this.#clock.now()
    const find = ({ keys }: LoadedKeys): CryptoKey | undefined =>
      keys.find(({ row }) => row.kid === kid && isGood(row, now))?.publicKey
    const loaded = await this.#current()
    const found = find(loaded)
    if (found || loaded.loadedAt > now - lookAgainAfter) return found
    return find(await this.#load())
  }

  /** The public keys as published (RFC 7517, section 5), and a tag that changes with them. */
  async jwks(): Promise<JSONWebKeySet & { tag: string }> {
    const { keys } = await this.#current()
    const now = this.#clock.now()
    const published = keys.filter(({ row }) => isGood(row, now)).map(({ jwk }) => jwk)
    const tag = createHash('sha256').update(JSON.stringify(published)).digest('base64url').slice(0, 22)
    return { keys: published, tag }
  }

  /**
   * Makes a new key; gives its id and when it begins to sign. `planned`: it is published now and signs in an hour, and
   * what older keys signed stays good until it has expired. `now`: it signs at once, and everything that older keys
   * signed is refused from now on.
   */
  async rotate(how: 'planned' | 'now', origin: AuditOrigin): Promise<{ kid: string; activeAt: number }> {
    const row = await this.#newKey()
    const rotated = await this.#locked(async (tx) => {
      const now = this.#clock.now()
      const rows = await readKeys(tx)
      const activeAt = how === 'now' || rows.length === 0 ? now : now + publishedBefore
      const retiresAt = how === 'now' ? now : activeAt + overlap
      await succeed(tx, { ...row, active_at: activeAt }, retiresAt)
      await this.#recordRotation(tx, row.kid, activeAt, origin)
      if (how === 'now') {
        for (const { kid } of rows.filter((each) => isGood(each, now))) {
          await this.#record(tx, { ...origin, action: 'signing_key.withdrawn', target: targetOf(kid) })
        }
        await this.#database.revocations.announce(tx, subject)
      }
      return { kid: row.kid, activeAt }
    })
    this.#loaded = undefined
    return rotated
  }

  /** Rotates when the newest key has signed for long enough; nothing when no key was ever needed. */
  async rotateIfDue(now: number): Promise<void> {
    if (isDue(await readKeys(this.#database.reader), now, this.#rotation)) {
      const row = await this.#newKey()
      await this.#locked(async (tx) => {
        // Another process may have been first.
        if (!isDue(await readKeys(tx), now, this.#rotation)) return
        const activeAt = now + publishedBefore
        await succeed(tx, { ...row, active_at: activeAt }, activeAt + overlap)
        await this.#recordRotation(tx, row.kid, activeAt, { actor: 'schedule' })
      })
      this.#loaded = undefined
    }
    await this.#database.transaction(
      (tx) => tx.deleteFrom('signing_keys').where('retires_at', '<=', now).execute(),
      { priority: 'work' },
    )
  }

  /**
   * What was read counts only while the database can tell that no process has withdrawn a key since. On SQLite, where the
   * command line cannot be heard, the few rows are read each time: about a tenth of what verifying a signature takes.
   */
  async #current(): Promise<LoadedKeys> {
    // Asked for in any case: whoever asks is going to hear.
    if (!this.#database.revocations.current) return this.#load()
    const loaded = await (this.#loaded ?? this.#load())
    return loaded.loadedAt > this.#clock.now() - freshFor ? loaded : this.#load()
  }

  #recordRotation(tx: Tx, kid: string, activeAt: number, origin: AuditOrigin): Promise<void> {
    const detail = { signsFrom: new Date(activeAt).toISOString() }
    return this.#record(tx, { ...origin, action: 'signing_key.rotated', target: targetOf(kid), detail })
  }

  /** Several calls at once share one look; a failed one is not kept. */
  #load(): Promise<LoadedKeys> {
    const loading = this.#read(this.#loaded)
    this.#loaded = loading
    loading.catch(() => {
      if (this.#loaded === loading) this.#loaded = undefined
    })
    return loading
  }

  async #read(before: Promise<LoadedKeys> | undefined): Promise<LoadedKeys> {
    const loadedAt = this.#clock.now()
    let rows = await this.#rows()
    if (!rows.some((row) => isGood(row, loadedAt))) {
      await this.#createFirst()
      rows = await this.#rows()
    }
    // What went wrong then was told to those who asked then.
    const known = (await before?.catch(() => undefined))?.keys ?? []
    const keys: LoadedKey[] = []
    for (const row of rows) {
      // Only its times change.
      const same = known.find(({ row: { kid } }) => kid === row.kid)
      keys.push(same ? { ...same, row } : await importPublic(row))
    }
    return { keys, loadedAt }
  }

  async #rows(): Promise<SigningKeysTable[]> {
    if (this.#database.engine === 'postgres') return readKeys(this.#database.reader)
    return this.#database.readConnection.all<SigningKeysTable>(
      'select * from signing_keys order by active_at, kid',
    )
  }

  async #open({ kid, private_jwk: sealed, algorithm }: SigningKeysTable): Promise<CryptoKey> {
    const { importJWK } = await import('jose')
    const secret = JSON.parse(this.#keyring.open(sealed, contextOf({ kid })).toString()) as JWK
    return (await importJWK(secret, algorithm)) as CryptoKey
  }

  /** Many processes may start at once on an empty database: the table's lock lets one of them make the key. */
  async #createFirst(): Promise<void> {
    const row = await this.#newKey()
    await this.#locked(async (tx) => {
      const now = this.#clock.now()
      const there = await readKeys(tx)
      if (!there.some((key) => isGood(key, now))) await tx.insertInto('signing_keys').values(row).execute()
    })
  }

  #locked<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#database.transaction(async (tx) => {
      if (this.#database.engine === 'postgres')
        await sql`lock table signing_keys in share row exclusive mode`.execute(tx)
      return work(tx)
    })
  }

  async #newKey(): Promise<SigningKeysTable> {
    const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose')
    const pair = await generateKeyPair(algorithm, { extractable: true })
    const publicJwk = await exportJWK(pair.publicKey)
    const kid = await calculateJwkThumbprint(publicJwk)
    const now = this.#clock.now()
    return {
      kid,
      algorithm,
      public_jwk: JSON.stringify({ ...publicJwk, kid, alg: algorithm, use: 'sig' }),
      private_jwk: this.#keyring.seal(JSON.stringify(await exportJWK(pair.privateKey)), contextOf({ kid })),
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

function readKeys(db: Queryable): Promise<SigningKeysTable[]> {
  return db.selectFrom('signing_keys').selectAll().orderBy('active_at').orderBy('kid').execute()
}

/** Adds a key; all others end at `retiresAt`, or before if they were to. */
async function succeed(tx: Tx, row: SigningKeysTable, retiresAt: number): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({ retires_at: retiresAt })
    .where((eb) => eb.or([eb('retires_at', 'is', null), eb('retires_at', '>', retiresAt)]))
    .execute()
  await tx.insertInto('signing_keys').values(row).execute()
}

function isGood({ retires_at: end }: SigningKeysTable, now: number): boolean {
  return end === null || end > now
}

function isDue(rows: readonly SigningKeysTable[], now: number, rotation: number): boolean {
  const newest = rows.at(-1)
  return newest !== undefined && newest.active_at + rotation - publishedBefore <= now
}

function targetOf(kid: string): string {
  return `signing-key:${kid}`
}
