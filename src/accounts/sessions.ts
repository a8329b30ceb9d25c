import type { Clock } from '../clock.ts'
import { newId } from '../crypto/ids.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { Role } from '../storage/tables.ts'
import type { Log } from '../telemetry/log.ts'
import { roleExpression, type IdentityKey } from './roles.ts'

/** How precise `last_seen_at` is, in milliseconds: at most one write per session in this time. */
const seenResolution = 60_000
const longestUserAgent = 512

export interface SessionLimits {
  /** Milliseconds without use after which a session ends. */
  idle: number
  /** Milliseconds after which it ends in any case. */
  lifetime: number
}

export interface NewSession {
  userId: string
  provider: string
  address: string
  userAgent: string | undefined
}

export interface Session {
  id: string
  userId: string
  role: Role
  provider: string
  createdAt: number
  lastSeenAt: number
  authenticatedAt: number
  expiresAt: number
}

/** Browser sessions: an opaque token in a cookie, its hash in a row, so that signing out really ends it. */
export class Sessions {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Log
  readonly #limits: SessionLimits
  readonly #admins: readonly IdentityKey[]

  constructor(parts: {
    database: Database
    clock: Clock
    log: Log
    limits: SessionLimits
    admins: readonly IdentityKey[]
  }) {
    this.#database = parts.database
    this.#clock = parts.clock
    this.#log = parts.log
    this.#limits = parts.limits
    this.#admins = parts.admins
  }

  /** Begins a session with a token of its own. `maxAge` is the cookie's, in seconds. */
  async begin(
    tx: Tx,
    { userId, provider, address, userAgent }: NewSession,
  ): Promise<{ id: string; token: string; maxAge: number }> {
    const now = this.#clock.now()
    const id = newId(now)
    const token = newToken()
    await tx
      .insertInto('sessions')
      .values({
        id,
        token_hash: hashToken(token),
        user_id: userId,
        provider,
        address,
        user_agent: userAgent?.slice(0, longestUserAgent) ?? null,
        created_at: now,
        last_seen_at: now,
        authenticated_at: now,
        expires_at: now + this.#limits.lifetime,
        revoked_at: null,
      })
      .execute()
    return { id, token, maxAge: Math.floor(this.#limits.lifetime / 1000) }
  }

  /** The live session of a token; `undefined` when it is unknown, over or revoked, or its user blocked. */
  async find(token: string): Promise<Session | undefined> {
    const now = this.#clock.now()
    const row = await this.#database.reader
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select([
        'sessions.id',
        'sessions.user_id',
        'sessions.provider',
        'sessions.created_at',
        'sessions.last_seen_at',
      ])
      .select(['sessions.authenticated_at', 'sessions.expires_at', roleExpression(this.#admins).as('role')])
      .where('sessions.token_hash', '=', hashToken(token))
      .where('sessions.revoked_at', 'is', null)
      .where('sessions.expires_at', '>', now)
      .where('sessions.last_seen_at', '>', now - this.#limits.idle)
      .where('users.blocked_at', 'is', null)
      .executeTakeFirst()
    if (!row) return undefined
    if (row.last_seen_at <= now - seenResolution) this.#noteSeen(row.id, now)
    return {
      id: row.id,
      userId: row.user_id,
      role: row.role,
      provider: row.provider,
      createdAt: row.created_at,
      lastSeenAt: row.last_seen_at,
      authenticatedAt: row.authenticated_at,
      expiresAt: row.expires_at,
    }
  }

  /** A new token for a live session, so that one that leaked before is worth nothing after. */
  async renewToken(tx: Tx, id: string): Promise<{ token: string; maxAge: number } | undefined> {
    const token = newToken()
    const row = await tx
      .updateTable('sessions')
      .set({ token_hash: hashToken(token) })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .returning('expires_at')
      .executeTakeFirst()
    return row && { token, maxAge: Math.max(1, Math.floor((row.expires_at - this.#clock.now()) / 1000)) }
  }

  /** The user's live sessions, the newest first, a hundred at most. */
  async list(userId: string) {
    const now = this.#clock.now()
    return this.#database.reader
      .selectFrom('sessions')
      .select(['id', 'provider', 'address', 'user_agent', 'created_at', 'last_seen_at', 'expires_at'])
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', now)
      .where('last_seen_at', '>', now - this.#limits.idle)
      .orderBy('id', 'desc')
      .limit(100)
      .execute()
  }

  /**
   * Ends one of the user's sessions; `record` writes it down in the same transaction. False when the user has no such
   * live session.
   */
  async revoke(userId: string, id: string, record?: (tx: Tx) => Promise<void>): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const result = await tx
        .updateTable('sessions')
        .set({ revoked_at: this.#clock.now() })
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .where('revoked_at', 'is', null)
        .executeTakeFirst()
      if (result.numUpdatedRows === 0n) return false
      await record?.(tx)
      return true
    })
  }

  /** Ends the session of a token, if there is one: a browser that signs in again leaves none behind. */
  async revokeToken(tx: Tx, token: string): Promise<void> {
    await tx
      .updateTable('sessions')
      .set({ revoked_at: this.#clock.now() })
      .where('token_hash', '=', hashToken(token))
      .where('revoked_at', 'is', null)
      .execute()
  }

  /** Forgets sessions that are over, however they ended. */
  async sweep(now: number): Promise<void> {
    await this.#database.transaction(
      (tx) =>
        tx
          .deleteFrom('sessions')
          .where((eb) =>
            eb.or([
              eb('expires_at', '<=', now),
              eb('last_seen_at', '<=', now - this.#limits.idle),
              eb('revoked_at', 'is not', null),
            ]),
          )
          .execute(),
      { lane: 'work' },
    )
  }

  /** Not waited for: a request does not depend on it, and the next one tries again. */
  #noteSeen(id: string, now: number): void {
    this.#database
      .transaction(
        (tx) =>
          tx
            .updateTable('sessions')
            .set({ last_seen_at: now })
            .where('id', '=', id)
            .where('last_seen_at', '<', now)
            .execute(),
        { lane: 'work' },
      )
      .catch((error: unknown) => this.#log.warn({ err: error }, 'could not note the use of a session'))
  }
}
