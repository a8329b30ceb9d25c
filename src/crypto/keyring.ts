import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { equalBytes } from './secrets.ts'
import type { Tables } from '../storage/tables.ts'

const version = 1
const headLength = 1 + 4 + 12
const tagLength = 16

declare const sealContext: unique symbol
/** Identifies a sealed value. Only `sealedColumns` creates contexts, so each sealed value is in a listed column. */
export type SealContext = string & { readonly [sealContext]: true }

/** The value was sealed with a master key that is not in this keyring. */
export class UnknownMasterKey extends Error {
  constructor() {
    super('sealed with a master key that POSTERN_SECRET no longer holds: add the old key behind the new one')
    this.name = 'UnknownMasterKey'
  }
}

/** SQL (of both engines) for the id of the master key that sealed a value; see the layout at `seal`. */
export function keyIdInSql(column: string): string {
  return `substr("${column}", 2, 4)`
}

interface MasterKey {
  id: Buffer
  derive(purpose: string): Buffer
}

/**
 * The master keys (`POSTERN_SECRET`) and the keys derived from them. The newest one seals and signs; all of them open and
 * verify, so that a key can be rotated without losing data.
 */
export class Keyring {
  readonly #keys: readonly [MasterKey, ...MasterKey[]]

  /** @param secrets newest first, each of 32 bytes or more. @throws Error if there are none. */
  constructor(secrets: readonly string[]) {
    const [newest, ...older] = secrets.map(masterKey)
    if (!newest) throw new Error('a keyring needs at least one secret')
    this.#keys = [newest, ...older]
  }

  /** The ids of the master keys, newest first: 4 bytes each. */
  get keyIds(): readonly [newest: Buffer, ...older: Buffer[]] {
    const [newest, ...older] = this.#keys
    return [newest.id, ...older.map(({ id }) => id)]
  }

  /**
   * Encrypts with AES-256-GCM. `context` identifies the row ("subscriber_secrets:3"), so a value that was copied to another
   * row cannot be opened. Layout: version, key id (4 bytes), nonce (12), ciphertext, tag (16).
   */
  seal(plain: string | Uint8Array, context: SealContext): Buffer {
    const [key] = this.#keys
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', key.derive('seal'), nonce)
    cipher.setAAD(Buffer.from(context))
    const body = Buffer.concat([cipher.update(plain), cipher.final()])
    return Buffer.concat([Buffer.from([version]), key.id, nonce, body, cipher.getAuthTag()])
  }

  /**
   * Decrypts a value that `seal` encrypted with the same context.
   * @throws UnknownMasterKey if none of the keys sealed it; Error if the value or the context was changed.
   */
  open(sealed: Uint8Array, context: SealContext): Buffer {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
    if (bytes.length < headLength + tagLength || bytes[0] !== version) throw new Error('not a sealed value')
    const id = bytes.subarray(1, 5)
    const key = this.#keys.find((candidate) => candidate.id.equals(id))
    if (!key) throw new UnknownMasterKey()
    const decipher = createDecipheriv('aes-256-gcm', key.derive('seal'), bytes.subarray(5, headLength))
    decipher.setAAD(Buffer.from(context))
    decipher.setAuthTag(bytes.subarray(-tagLength))
    return Buffer.concat([decipher.update(bytes.subarray(headLength, -tagLength)), decipher.final()])
  }

  /** Returns the HMAC-SHA256 of `message` under the newest key; each `purpose` has its own derived key. */
  sign(message: string | Uint8Array, purpose: string): Buffer {
    return createHmac('sha256', this.#keys[0].derive(purpose)).update(message).digest()
  }

  /** The first 18 bytes of `sign` (RFC 2104, section 5: at least half of the hash) in base64url: for cursors, URLs and forms. */
  proof(message: string | Uint8Array, purpose: string): string {
    return this.sign(message, purpose).subarray(0, 18).toString('base64url')
  }

  /** Derives a key of 32 bytes for `message` from each master key, newest first: for secrets shared with other parties. */
  derived(message: string, purpose: string): [Buffer, ...Buffer[]] {
    const from = (key: MasterKey): Buffer =>
      createHmac('sha256', key.derive(purpose)).update(message).digest()
    const [newest, ...older] = this.#keys
    return [from(newest), ...older.map(from)]
  }

  /** Whether any of the keys made this `proof` of `message`, or this `sign`, whole or truncated to at least 16 bytes. */
  verify(message: string | Uint8Array, proof: string | Uint8Array, purpose: string): boolean {
    const mac = typeof proof === 'string' ? Buffer.from(proof, 'base64url') : proof
    if (mac.length < 16 || mac.length > 32) return false
    let found = false
    for (const key of this.#keys) {
      const expected = createHmac('sha256', key.derive(purpose))
        .update(message)
        .digest()
        .subarray(0, mac.length)
      found = equalBytes(expected, mac) || found
    }
    return found
  }
}

function masterKey(secret: string): MasterKey {
  const derived = new Map<string, Buffer>()
  const derive = (purpose: string): Buffer => {
    let key = derived.get(purpose)
    if (!key) {
      key = Buffer.from(hkdfSync('sha256', secret, 'postern', purpose, 32))
      derived.set(purpose, key)
    }
    return key
  }
  return { id: createHash('sha256').update(derive('id')).digest().subarray(0, 4), derive }
}

/** A column of values that `Keyring.seal` encrypted. */
export interface SealedColumn {
  readonly table: keyof Tables
  readonly column: string
  /** The columns of the primary key. */
  readonly key: readonly string[]
  /** The rows expire within hours, so a value that cannot be opened does not prevent a start. */
  readonly shortLived?: true
  /** The context that binds a value to its row, derived from the primary key. */
  context(row: never): SealContext
}

function sealed<T extends keyof Tables, K extends keyof Tables[T] & string>(definition: {
  table: T
  column: keyof Tables[T] & string
  key: readonly K[]
  shortLived?: true
  context: (row: Readonly<Pick<Tables[T], K>>) => string
}) {
  return { ...definition, context: definition.context as (row: Readonly<Pick<Tables[T], K>>) => SealContext }
}

const providerToken = (column: 'access_token' | 'refresh_token') =>
  sealed({
    table: 'provider_tokens',
    column,
    key: ['provider', 'provider_id'],
    context: (row) => `provider_tokens:${JSON.stringify([row.provider, row.provider_id])}:${column}`,
  })

/**
 * All columns with sealed values. Sealing and opening take their contexts from here, so that `postern keys reseal`, the
 * check at the start and `postern doctor` cover all of them. Never change the contexts of released versions: stored values
 * are bound to them.
 */
export const sealedColumns = {
  subscriberSecret: sealed({
    table: 'subscriber_secrets',
    column: 'secret',
    key: ['id'],
    context: ({ id }) => `subscriber_secrets:${id}`,
  }),
  subscriberHeaders: sealed({
    table: 'subscribers',
    column: 'headers',
    key: ['id'],
    context: ({ id }) => `subscribers.headers:${id}`,
  }),
  subscriberCredentials: sealed({
    table: 'subscribers',
    column: 'credentials',
    key: ['id'],
    context: ({ id }) => `subscribers.credentials:${id}`,
  }),
  alertTarget: sealed({
    table: 'alert_destinations',
    column: 'target',
    key: ['id'],
    context: ({ id }) => `alert_destinations:${id}`,
  }),
  signingKey: sealed({
    table: 'signing_keys',
    column: 'private_jwk',
    key: ['kid'],
    context: ({ kid }) => `signing_keys:${kid}`,
  }),
  providerAccessToken: providerToken('access_token'),
  providerRefreshToken: providerToken('refresh_token'),
  idempotentResponse: sealed({
    table: 'idempotent_responses',
    column: 'body',
    key: ['key_hash'],
    shortLived: true,
    context: ({ key_hash: hash }) => `idempotent_responses:${Buffer.from(hash).toString('hex')}`,
  }),
  flowVerifier: sealed({
    table: 'flows',
    column: 'verifier',
    key: ['state_hash'],
    shortLived: true,
    context: ({ state_hash: hash }) => `flows:${Buffer.from(hash).toString('hex')}`,
  }),
  flowPending: sealed({
    table: 'flows',
    column: 'pending',
    key: ['state_hash'],
    shortLived: true,
    context: ({ state_hash: hash }) => `flows.pending:${Buffer.from(hash).toString('hex')}`,
  }),
} as const

export const allSealedColumns: readonly SealedColumn[] = Object.values(sealedColumns)
