import { createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { type Keyring, sealedColumns } from '../../crypto/keyring.ts'
import { HmacKey } from '../../crypto/secrets.ts'
import { newId } from '../../crypto/ids.ts'
import { invalidBody } from '../../errors.ts'
import { closedObject, DateTime, dateTime, nullable } from '../../http/schemas/schemas.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import type { SigningScheme, Row } from '../../storage/tables.ts'
import type { SigningKey } from '../attempt/signature.ts'

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, "Signature scheme". */
const symmetricPrefix = 'whsec_'
const publicPrefix = 'whpk_'
/** The prefix of a private key: the base64 of seed and public key follows. */
const privatePrefix = 'whsk_'
const leastBytes = 16
const mostBytes = 75

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
    const read = scheme === 'v1' ? readSymmetricKey : readAsymmetricSeed
    // A secret that the caller chose is of one scheme. The seed of an ed25519 key is random as well (RFC 8032, section 5.1.5).
    const isGiven = given !== undefined && (scheme === 'v1' || given.startsWith(privatePrefix))
    const bytes = isGiven ? read(given) : randomBytes(32)
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

function writeSymmetricKey(key: Uint8Array): string {
  return symmetricPrefix + Buffer.from(key).toString('base64')
}

/**
 * Reads a secret that a caller chose: `whsec_` (or `v1,whsec_`, or nothing) and base64 with or without padding.
 * @throws Problem `invalid-body` that never repeats the secret.
 */
export function readSymmetricKey(text: string): Buffer {
  const base64 = text
    .trim()
    .replace(/^v1,/, '')
    .replace(/^whsec_/, '')
  const valid = /^[A-Za-z0-9+/]+={0,2}$/.test(base64)
  const key = valid ? Buffer.from(base64, 'base64') : Buffer.alloc(0)
  // Encoding it again detects invalid lengths, which the decoder accepts.
  if (
    key.toString('base64').replaceAll('=', '') !== base64.replaceAll('=', '') ||
    key.length < leastBytes ||
    key.length > mostBytes
  ) {
    throw invalidBody(
      '/secret',
      `The secret must be ${symmetricPrefix} followed by the base64 of ${leastBytes} to ${mostBytes} bytes.`,
    )
  }
  return key
}

/**
 * Reads an ed25519 private key that a caller chose. Returns its seed.
 * @throws Problem `invalid-body` that never repeats the key
 */
export function readAsymmetricSeed(text: string): Buffer {
  const bytes = Buffer.from(text.slice(privatePrefix.length), 'base64')
  const seed = bytes.subarray(0, 32)
  const isPair =
    bytes.length === 64 &&
    text === privatePrefix + bytes.toString('base64') &&
    bytes.subarray(32).equals(publicBytes(seed))
  if (!isPair)
    throw invalidBody(
      '/secret',
      `The secret must be ${privatePrefix} followed by the base64 of an ed25519 seed and its public key.`,
    )
  return seed
}

/** DER before the seed of an ed25519 private key (RFC 8410, section 7). */
const privateHead = Buffer.from('302e020100300506032b657004220420', 'hex')

export function asymmetricKey(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([privateHead, seed]), format: 'der', type: 'pkcs8' })
}

/** The public half, as subscribers get it: `whpk_` and base64. */
export function writePublicKey(seed: Uint8Array): string {
  return publicPrefix + publicBytes(seed).toString('base64')
}

/** The public half as a JSON Web Key (RFC 8037). */
function publicJwk(seed: Uint8Array, kid: string) {
  return {
    kty: 'OKP',
    crv: 'Ed25519',
    x: publicBytes(seed).toString('base64url'),
    kid,
    alg: 'Ed25519',
    use: 'sig',
  }
}

function publicBytes(seed: Uint8Array): Buffer {
  return createPublicKey(asymmetricKey(seed)).export({ format: 'der', type: 'spki' }).subarray(-32)
}
