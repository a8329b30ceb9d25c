import type { Clock } from '../../runtime/clock.ts'
import { newId } from '../../crypto/ids.ts'
import { equalBytes, hashToken, newToken } from '../../crypto/secrets.ts'
import { Problem } from '../../errors.ts'
import type { Principal } from '../../http/access/principal.ts'
import { idScope, type Cursors } from '../../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../../paging/parameters.ts'
import type { Database } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import type { Log } from '../../telemetry/log.ts'
import { type AuditOrigin, AuditedStore, type RecordAudit } from '../audit/audit.ts'

/** The prefix of every key, by which secret scanners recognize a leaked one. */
const keyPrefix = 'pk_'
/** Resolution of `last_used_at` in milliseconds: one write per key in this time at most. */
const useResolution = 60_000

/** Why a key was refused, for the audit log. The client gets one message for all three reasons. */
export class RefusedKey extends Error {
  readonly code: 'unknown-key' | 'expired-key' | 'revoked-key'
  /** `undefined` for an unknown key. */
  readonly keyId: string | undefined

  constructor(code: RefusedKey['code'], keyId: string | undefined) {
    super(code)
    this.name = 'RefusedKey'
    this.code = code
    this.keyId = keyId
  }
}

interface NewKey {
  name: string
  /** At least one: of this service, or of applications behind a proxy. */
  scopes: readonly string[]
  /** Milliseconds since 1970. */
  expiresAt?: number | undefined
}

/** A key without its hash. */
export type KeyRow = Omit<Row<'api_keys'>, 'key_hash'>

const columns = [
  'id',
  'name',
  'role',
  'scopes',
  'prefix',
  'created_at',
  'created_by',
  'expires_at',
  'revoked_at',
  'last_used_at',
] as const
const cursorScope = idScope('keys', null)

/** API keys: shown once, stored as hashes, with scopes and an optional expiry. */
export class ApiKeys extends AuditedStore {
  readonly #adminHash: Buffer | undefined
  readonly #log: Pick<Log, 'warn'> | undefined

  /**
   * @param adminKey ADMIN_API_KEY: a key of the environment, which has no row.
   * @param log for failed writes of `last_used_at`; callers that never authenticate omit it.
   */
  constructor(
    database: Database,
    clock: Clock,
    record: RecordAudit,
    { adminKey, log }: { adminKey?: string | undefined; log?: Pick<Log, 'warn'> } = {},
  ) {
    super(database, clock, record)
    this.#log = log
    this.#adminHash = adminKey === undefined ? undefined : hashToken(adminKey)
  }

  /** The principal of a key. @throws Problem `not-signed-in` when it is unknown, expired or revoked. */
  async authenticate(key: string): Promise<Principal> {
    const { id: keyId, scopes: held } = await this.find(key)
    const scopes = held.split(' ')
    return { kind: 'key', role: scopes.includes('admin') ? 'admin' : 'user', scopes, keyId }
  }

  /** A key's id and scopes, separated by spaces. @throws Problem as `authenticate` */
  async find(key: string): Promise<Pick<KeyRow, 'id' | 'scopes'>> {
    const hash = hashToken(key)
    if (this.#adminHash && equalBytes(hash, this.#adminHash)) return { id: 'ADMIN_API_KEY', scopes: 'admin' }
    const now = this.clock.now()
    const row = await this.database.reader
      .selectFrom('api_keys')
      .selectAll()
      .where('key_hash', '=', hash)
      .executeTakeFirst()
    if (!row) throw refused('unknown-key')
    if (row.revoked_at !== null) throw refused('revoked-key', row.id)
    if (row.expires_at !== null && row.expires_at <= now) throw refused('expired-key', row.id)
    if ((row.last_used_at ?? 0) < now - useResolution) this.#updateLastUse(row.id, now)
    return row
  }

  /**
   * Creates a key. Only this result contains the key itself.
   * @throws RangeError without a scope: such a key would have no rights.
   */
  async create(
    { name, scopes, expiresAt }: NewKey,
    origin: AuditOrigin,
  ): Promise<{ id: string; key: string; row: KeyRow }> {
    const now = this.clock.now()
    if (scopes.length === 0) throw new RangeError('an API key needs at least one scope')
    const scopeList = [...new Set(scopes)].join(' ')
    const key = newToken(keyPrefix)
    const id = newId(now)
    const row: KeyRow = {
      id,
      name,
      role: scopes.includes('admin') ? 'admin' : 'user',
      scopes: scopeList,
      prefix: key.slice(0, keyPrefix.length + 4),
      created_at: now,
      created_by: origin.actor ?? null,
      expires_at: expiresAt ?? null,
      revoked_at: null,
      last_used_at: null,
    }
    await this.database.transaction(async (tx) => {
      await tx
        .insertInto('api_keys')
        .values({ ...row, key_hash: hashToken(key) })
        .execute()
      await this.record(tx, {
        action: 'key.created',
        target: `key:${id}`,
        detail: { name, scopes: scopeList },
        ...origin,
      })
    })
    return { id, key, row }
  }

  /** The newest thousand keys, without their hashes. */
  list(): Promise<KeyRow[]> {
    return this.#rows().orderBy('id', 'desc').limit(1000).execute()
  }

  /** A page of keys, newest first. @throws Problem `invalid-cursor` */
  page(cursors: Cursors, request: PageRequest): Promise<PageOfRows<KeyRow>> {
    return cursors.newest(cursorScope, request, this.#rows())
  }

  #rows() {
    return this.database.reader.selectFrom('api_keys').select(columns)
  }

  /** Revokes a key. False when there is no such key or it is already revoked. */
  async revoke(id: string, origin: AuditOrigin): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const revoked = await tx
        .updateTable('api_keys')
        .set({ revoked_at: this.clock.now() })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .returning(['name', 'scopes'])
        .executeTakeFirst()
      if (!revoked) return false
      await this.record(tx, { action: 'key.revoked', target: `key:${id}`, detail: revoked, ...origin })
      return true
    })
  }

  /** Runs in the background: no request depends on it, and the next use writes it again. */
  #updateLastUse(id: string, now: number): void {
    this.database
      .inBackground((tx) =>
        tx.updateTable('api_keys').set({ last_used_at: now }).where('id', '=', id).execute(),
      )
      .catch((error: unknown) =>
        this.#log?.warn({ err: error, keyId: id }, 'the last use of an API key could not be recorded'),
      )
  }
}

function refused(code: RefusedKey['code'], keyId?: string): Problem {
  return new Problem('not-signed-in', {
    detail: 'The API key is unknown, expired or revoked.',
    cause: new RefusedKey(code, keyId),
  })
}
