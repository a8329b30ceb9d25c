import { type Static, Type } from 'typebox'
import { type Keyring, sealedColumns } from '../../crypto/keyring.ts'
import { HmacKey } from '../../crypto/secrets.ts'
import { newId } from '../../crypto/ids.ts'
import { closedObject, DateTime, dateTime, nullable } from '../../http/schemas/schemas.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import type { SigningScheme, Row } from '../../storage/tables.ts'
import {
  asymmetricKey,
  newAsymmetricSeed,
  newSymmetricKey,
  privatePrefix,
  publicJwk,
  readAsymmetricSeed,
  readSymmetricKey,
  type SigningKey,
  writePublicKey,
  writeSymmetricKey,
} from '../attempt/signature.ts'

type Scheme = Row<'subscriber_secrets'>['scheme']
const contextOf = sealedColumns.subscriberSecret.context

/** The most older keys of one scheme that sign as well. A further rotation removes the oldest. */
export const mostOlderKeys = 10

export interface LiveKey {
  signing: SigningKey
  /** Milliseconds since 1970; null for the newest key of a scheme. */
  expiresAt: number | null
  createdAt: number
}

/** New keys, which are shown once. */
export interface ShownKeys {
  secret?: string
  publicKey?: string
}

/** The public facts about a signing key. */
export const KeyView = closedObject({
  id: Type.String({
    description: 'The id: `keyid` in HTTP message signatures, `kid` in the published keys',
  }),
  scheme: Type.Union([Type.Literal('v1'), Type.Literal('v1a')]),
  createdAt: DateTime,
  expiresAt: nullable(dateTime('Null for the newest key')),
  publicKey: nullable(Type.String({ description: 'whpk_…, of `v1a`' })),
})

export interface SecretRotation {
  schemes: readonly Scheme[]
  now: number
  /** Milliseconds for which the older keys sign as well. */
  overlap: number
  /** Whether keys that already have an end keep it. Default: they end with the overlap at the latest. */
  keepsEnds?: boolean | undefined
  /** Schemes without a new key, whose keys end as well. */
  retired?: readonly Scheme[]
  /** Chosen by the caller: a `v1` secret or a `v1a` private key. */
  given?: string | undefined
}

/** The signing keys of subscribers: encrypted in the database, shown once. */
export class SubscriberSecrets {
  readonly #keyring: Keyring

  constructor(keyring: Keyring) {
    this.#keyring = keyring
  }

  async rotate(
    tx: Tx,
    subscriberId: string,
    { schemes, retired = [], now, overlap, keepsEnds = false, given }: SecretRotation,
  ): Promise<ShownKeys> {
    const shown: ShownKeys = {}
    for (const scheme of [...retired, ...schemes]) {
      const older = await tx
        .selectFrom('subscriber_secrets')
        .select(['id', 'expires_at'])
        .where('subscriber_id', '=', subscriberId)
        .where('scheme', '=', scheme)
        .orderBy('id', 'desc')
        .execute()
      const end = now + overlap
      for (const [age, { id, expires_at }] of older.entries()) {
        const last = keepsEnds ? (expires_at ?? end) : Math.min(expires_at ?? end, end)
        const over = last <= now || age >= mostOlderKeys
        if (over) await tx.deleteFrom('subscriber_secrets').where('id', '=', id).execute()
        else if (expires_at !== last)
          await tx.updateTable('subscriber_secrets').set({ expires_at: last }).where('id', '=', id).execute()
      }
      if (schemes.includes(scheme))
        Object.assign(shown, await this.#add(tx, subscriberId, { scheme, now, given }))
    }
    return shown
  }

  /** Creates keys for those schemes that have none. */
  async ensure(tx: Tx, subscriberId: string, schemes: readonly Scheme[], now: number): Promise<ShownKeys> {
    const rows = await this.#rows(tx, subscriberId, schemes)
    const shown: ShownKeys = {}
    for (const scheme of schemes) {
      if (!rows.some((row) => row.scheme === scheme && row.expires_at === null))
        Object.assign(shown, await this.#add(tx, subscriberId, { scheme, now }))
    }
    return shown
  }

  /** The keys of the schemes, newest first, including expired ones: the signer checks the time. */
  async load(db: Queryable, subscriberId: string, schemes: readonly Scheme[]): Promise<LiveKey[]> {
    const rows = await this.#rows(db, subscriberId, schemes)
    return rows.map((row) => {
      const bytes = this.#open(row)
      const signing: SigningKey =
        row.scheme === 'v1'
          ? { id: row.id, scheme: 'v1', key: new HmacKey('sha256', bytes) }
          : { id: row.id, scheme: 'v1a', key: asymmetricKey(bytes) }
      return { signing, expiresAt: row.expires_at, createdAt: row.created_at }
    })
  }

  /** Public facts about the keys that sign now, newest first. */
  async describe(db: Queryable, subscriberId: string, now: number): Promise<Static<typeof KeyView>[]> {
    const rows = await this.#live(db, subscriberId, ['v1', 'v1a'], now)
    return rows.map((row) => ({
      id: row.id,
      scheme: row.scheme,
      createdAt: isoTime(row.created_at),
      expiresAt: isoTimeOrNull(row.expires_at),
      publicKey: row.scheme === 'v1a' ? writePublicKey(this.#open(row)) : null,
    }))
  }

  /** The newest key that does not end, as a receiver verifies with it: a symmetric secret, or the public half of an ed25519 key. */
  async reveal(db: Queryable, subscriberId: string): Promise<string | undefined> {
    const rows = await this.#rows(db, subscriberId, ['v1', 'v1a'])
    const row = rows.find(({ expires_at }) => expires_at === null)
    return row && (row.scheme === 'v1' ? writeSymmetricKey : writePublicKey)(this.#open(row))
  }

  /** The public halves of the ed25519 keys that sign now, newest first, as JSON Web Keys. */
  async published(db: Queryable, subscriberId: string, now: number): Promise<ReturnType<typeof publicJwk>[]> {
    const rows = await this.#live(db, subscriberId, ['v1a'], now)
    return rows.map((row) => publicJwk(this.#open(row), row.id))
  }

  async #add(
    tx: Tx,
    subscriberId: string,
    { scheme, now, given }: { scheme: Scheme; now: number; given?: string | undefined },
  ): Promise<ShownKeys> {
    const id = newId(now)
    const bytes =
      scheme === 'v1a'
        ? given?.startsWith(privatePrefix)
          ? readAsymmetricSeed(given)
          : newAsymmetricSeed()
        : given === undefined
          ? newSymmetricKey()
          : readSymmetricKey(given)
    await tx
      .insertInto('subscriber_secrets')
      .values({
        id,
        subscriber_id: subscriberId,
        scheme,
        secret: this.#keyring.seal(bytes, contextOf({ id })),
        created_at: now,
        expires_at: null,
      })
      .execute()
    return scheme === 'v1' ? { secret: writeSymmetricKey(bytes) } : { publicKey: writePublicKey(bytes) }
  }

  async #live(db: Queryable, subscriberId: string, schemes: readonly Scheme[], now: number) {
    const rows = await this.#rows(db, subscriberId, schemes)
    return rows.filter(({ expires_at }) => expires_at === null || expires_at > now)
  }

  #rows(
    db: Queryable,
    subscriberId: string,
    schemes: readonly Scheme[],
  ): Promise<Row<'subscriber_secrets'>[]> {
    return db
      .selectFrom('subscriber_secrets')
      .selectAll()
      .where('subscriber_id', '=', subscriberId)
      .where('scheme', 'in', [...schemes])
      .orderBy('id', 'desc')
      .execute()
  }

  #open(row: Row<'subscriber_secrets'>): Buffer {
    return this.#keyring.open(row.secret, contextOf(row))
  }
}

export function schemesOf(signing: SigningScheme): Scheme[] {
  return signing === 'both' ? ['v1', 'v1a'] : [signing]
}
