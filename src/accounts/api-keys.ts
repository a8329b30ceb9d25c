import type { Clock } from '../runtime/clock.ts'
import { newId } from '../crypto/ids.ts'
import { equalBytes } from '../crypto/constant-time.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import { Problem } from '../errors.ts'
import type { Principal } from '../http/principal.ts'
import { isScope, type Scope } from '../http/scopes.ts'
import type { Database } from '../storage/database.ts'
import type { ApiKeysTable } from '../storage/tables.ts'
import type { Log } from '../telemetry/log.ts'
import type { AuditOrigin, RecordAudit } from './audit.ts'

/** What every key begins with, so that a leaked one can be recognised by scanners. */
export const keyPrefix = 'pk_'
/** How precise `last_used_at` is, in milliseconds: at most one write per key in this time. */
const useResolution = 60_000

/** Why a key was refused: for the audit log. The client is told all three reasons in one sentence. */
export class RefusedKey extends Error {
  readonly code: 'unknown-key' | 'expired-key' | 'revoked-key'
  /** Missing for an unknown key. */
  readonly keyId: string | undefined

  constructor(code: RefusedKey['code'], keyId: string | undefined) {
    super(code)
    this.name = 'RefusedKey'
    this.code = code
    this.keyId = keyId
  }
}

export interface NewKey {
  name: string
  /** What it may do; at least one. */
  scopes: readonly Scope[]
  /** Milliseconds since 1970. */
  expiresAt?: number | undefined
}

function refusalOf(row: ApiKeysTable | undefined, now: number): RefusedKey['code'] | undefined {
  if (!row) return 'unknown-key'
  if (row.revoked_at !== null) return 'revoked-key'
  return row.expires_at !== null && row.expires_at <= now ? 'expired-key' : undefined
}

/** API keys: shown once, stored as hashes, with scopes and an optional end. */
export class ApiKeys {
  readonly #database: Database
  readonly #clock: Clock
  readonly #record: RecordAudit
  readonly #adminHash: Buffer | undefined
  readonly #log: Pick<Log, 'warn'> | undefined

  /**
   * @param adminKey ADMIN_API_KEY: a key that is in the environment and not in the table
   * @param log told when a use could not be noted; whoever authenticates nobody needs none
   */
  constructor(
    database: Database,
    clock: Clock,
    record: RecordAudit,
    { adminKey, log }: { adminKey?: string | undefined; log?: Pick<Log, 'warn'> } = {},
  ) {
    this.#database = database
    this.#clock = clock
    this.#record = record
    this.#log = log
    this.#adminHash = adminKey === undefined ? undefined : hashToken(adminKey)
  }

  /** The principal of a key. @throws Problem `not-signed-in` for an unknown, expired or revoked one. */
  async authenticate(key: string): Promise<Principal> {
    const hash = hashToken(key)
    if (this.#adminHash && equalBytes(hash, this.#adminHash)) return principalOf('ADMIN_API_KEY', ['admin'])
    const now = this.#clock.now()
    const row = await this.#database.reader
      .selectFrom('api_keys')
      .selectAll()
      .where('key_hash', '=', hash)
      .executeTakeFirst()
    const refused = refusalOf(row, now)
    if (refused || !row) {
      throw new Problem('not-signed-in', {
        detail: 'The API key is unknown, expired or revoked.',
        cause: new RefusedKey(refused ?? 'unknown-key', row?.id),
      })
    }
    if ((row.last_used_at ?? 0) < now - useResolution) this.#noteUse(row.id, now)
    return principalOf(row.id, readScopes(row.scopes))
  }

  /**
   * Makes a key. The returned text is the only time that it can be seen.
   * @throws RangeError without a scope: such a key could do nothing.
   */
  async create(
    { name, scopes, expiresAt }: NewKey,
    origin: AuditOrigin,
  ): Promise<{ id: string; key: string }> {
    const now = this.#clock.now()
    if (scopes.length === 0) throw new RangeError('an API key needs at least one scope')
    const written = [...new Set(scopes)].join(' ')
    const key = newToken(keyPrefix)
    const id = newId(now)
    const row: ApiKeysTable = {
      id,
      name,
      role: scopes.includes('admin') ? 'admin' : 'user',
      scopes: written,
      prefix: key.slice(0, keyPrefix.length + 4),
      key_hash: hashToken(key),
      created_at: now,
      expires_at: expiresAt ?? null,
      revoked_at: null,
      last_used_at: null,
    }
    await this.#database.transaction(async (tx) => {
      await tx.insertInto('api_keys').values(row).execute()
      await this.#record(tx, {
        action: 'key.created',
        target: `key:${id}`,
        detail: { name, scopes: written },
        ...origin,
      })
    })
    return { id, key }
  }

  /** The newest thousand keys, without what they are made of. */
  async list(): Promise<Omit<ApiKeysTable, 'key_hash'>[]> {
    return this.#database.reader
      .selectFrom('api_keys')
      .select([
        'id',
        'name',
        'role',
        'scopes',
        'prefix',
        'created_at',
        'expires_at',
        'revoked_at',
        'last_used_at',
      ])
      .orderBy('id', 'desc')
      .limit(1000)
      .execute()
  }

  /** False when there is no such key, or it was revoked before. */
  async revoke(id: string, origin: AuditOrigin): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const revoked = await tx
        .updateTable('api_keys')
        .set({ revoked_at: this.#clock.now() })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .returning(['name', 'scopes'])
        .executeTakeFirst()
      if (!revoked) return false
      await this.#record(tx, { action: 'key.revoked', target: `key:${id}`, detail: revoked, ...origin })
      return true
    })
  }

  /** Not waited for: a request does not depend on it, and the next use notes itself. */
  #noteUse(id: string, now: number): void {
    this.#database
      .transaction(
        (tx) => tx.updateTable('api_keys').set({ last_used_at: now }).where('id', '=', id).execute(),
        { priority: 'work' },
      )
      .catch((error: unknown) =>
        this.#log?.warn({ err: error, keyId: id }, 'could not note the use of an API key'),
      )
  }
}

function principalOf(keyId: string, scopes: readonly Scope[]): Principal {
  return { kind: 'key', role: scopes.includes('admin') ? 'admin' : 'user', scopes, keyId }
}

/** Scopes that this version does not know, since a newer one made the key, give nothing. */
function readScopes(written: string): Scope[] {
  return written.split(' ').filter(isScope)
}
