import type { Clock } from '../runtime/clock.ts'
import { newId } from '../crypto/ids.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { SessionsTable } from '../storage/tables.ts'
import type { Log } from '../telemetry/log.ts'
import type { RecordAudit } from './audit.ts'
import type { Authentication } from './authentication.ts'
import type { IdentityKey } from './roles.ts'
import { SeenTimes } from './seen-times.ts'
import { SessionLookup, type Session } from './session-lookup.ts'

const longestUserAgent = 512

export interface SessionLimits {
  /** Milliseconds without use after which a session ends. */
  idle: number
  /** Milliseconds after which it ends in any case. */
  lifetime: number
  /** How many a user has at most; of apps' token families as many again. The least recently used end first. */
  perUser: number
}

/** The limits that the settings tell. */
export function sessionLimits(settings: {
  sessionIdle: number
  sessionLifetime: number
  sessionsPerUser: number
}): SessionLimits {
  return {
    idle: settings.sessionIdle,
    lifetime: settings.sessionLifetime,
    perUser: settings.sessionsPerUser,
  }
}

/** What a list tells of a session. */
export type ListedSession = Omit<SessionsTable, 'token_hash' | 'authentication_proof' | 'acr' | 'amr'>

/** More than anybody has: what one statement ends of what is beyond the bound. */
export const endedAtOnce = 1_000

export interface NewSession {
  userId: string
  provider: string
  address: string
  userAgent: string | undefined
  authentication: Authentication
}

/** Browser sessions: an opaque token in a cookie, its hash in a row, so that signing out really ends it. */
export class Sessions {
  readonly #database: Database
  readonly #clock: Clock
  readonly #limits: SessionLimits
  readonly #lookup: SessionLookup
  readonly #seen: SeenTimes
  readonly #record: RecordAudit

  constructor(parts: {
    database: Database
    clock: Clock
    log: Log
    limits: SessionLimits
    admins: readonly IdentityKey[]
    record: RecordAudit
  }) {
    this.#database = parts.database
    this.#clock = parts.clock
    this.#limits = parts.limits
    this.#record = parts.record
    this.#lookup = new SessionLookup(parts.database, parts.admins)
    this.#seen = new SeenTimes(parts.database, parts.log)
  }

  /**
   * Begins a session with a token of its own, and ends what the user then has beyond the bound. `maxAge` is the cookie's,
   * in seconds.
   */
  async begin(
    tx: Tx,
    { userId, provider, address, userAgent, authentication }: NewSession,
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
        user_agent: keptUserAgent(userAgent),
        created_at: now,
        last_seen_at: now,
        authenticated_at: authentication.at,
        authentication_proof: authentication.proof,
        acr: authentication.acr,
        amr: authentication.amr,
        expires_at: now + this.#limits.lifetime,
        revoked_at: null,
      })
      .execute()
    const count = await this.#endBeyondBound(tx, userId, now)
    if (count > 0) {
      const detail = { reason: 'limit', count }
      await this.#record(tx, { action: 'session.revoked', userId, address, userAgent, detail })
    }
    return { id, token, maxAge: Math.floor(this.#limits.lifetime / 1000) }
  }

  /** The live session of a token; `undefined` when it is unknown, over or revoked, or its user blocked. */
  async find(token: string): Promise<Session | undefined> {
    const now = this.#clock.now()
    const live = ({ expiresAt, lastSeenAt }: Session): boolean =>
      expiresAt > now && lastSeenAt > now - this.#limits.idle
    const session = await this.#lookup.find(hashToken(token), live)
    if (!session || !live(session)) return undefined
    this.#seen.note(session, now)
    return session
  }

  /**
   * A new token for a live session, so that one that leaked before is worth nothing after: for when what the session may
   * do has changed. `undefined` when the session is over.
   */
  async renewToken(tx: Tx, id: string): Promise<{ token: string; maxAge: number } | undefined> {
    const token = newToken()
    const row = await tx
      .updateTable('sessions')
      .set({ token_hash: hashToken(token) })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .returning(['user_id', 'expires_at'])
      .executeTakeFirst()
    if (!row) return undefined
    await this.#database.revocations.announce(tx, row.user_id)
    return { token, maxAge: Math.max(1, Math.floor((row.expires_at - this.#clock.now()) / 1000)) }
  }

  /** The user's live sessions, the newest first, `limit` at most. */
  async list(userId: string, limit: number): Promise<ListedSession[]> {
    const now = this.#clock.now()
    return this.#database.reader
      .selectFrom('sessions')
      .select(['id', 'user_id', 'provider', 'address', 'user_agent', 'created_at', 'last_seen_at'])
      .select(['authenticated_at', 'expires_at', 'revoked_at'])
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', now)
      .where('last_seen_at', '>', now - this.#limits.idle)
      .orderBy('id', 'desc')
      .limit(limit)
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
      await this.#database.revocations.announce(tx, userId)
      await record?.(tx)
      return true
    })
  }

  /** Ends all of a user's sessions but one, or those of one provider; gives how many. */
  async revokeAll(tx: Tx, userId: string, exceptId?: string, provider?: string): Promise<number> {
    let sessions = tx
      .updateTable('sessions')
      .set({ revoked_at: this.#clock.now() })
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
    if (exceptId !== undefined) sessions = sessions.where('id', '<>', exceptId)
    if (provider !== undefined) sessions = sessions.where('provider', '=', provider)
    const { numUpdatedRows } = await sessions.executeTakeFirst()
    await this.#database.revocations.announce(tx, userId)
    return Number(numUpdatedRows)
  }

  /** Ends the session of a token, if there is one: a browser that signs in again leaves none behind. */
  async revokeToken(tx: Tx, token: string): Promise<void> {
    const ended = await tx
      .updateTable('sessions')
      .set({ revoked_at: this.#clock.now() })
      .where('token_hash', '=', hashToken(token))
      .where('revoked_at', 'is', null)
      .returning('user_id')
      .executeTakeFirst()
    if (ended) await this.#database.revocations.announce(tx, ended.user_id)
  }

  /** Gives how many ended. */
  async #endBeyondBound(tx: Tx, userId: string, now: number): Promise<number> {
    const { numUpdatedRows } = await tx
      .updateTable('sessions')
      .set({ revoked_at: now })
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('sessions')
          .select('id')
          .where('user_id', '=', userId)
          .where('revoked_at', 'is', null)
          .where('expires_at', '>', now)
          .orderBy('last_seen_at', 'desc')
          .orderBy('id', 'desc')
          .limit(endedAtOnce)
          .offset(this.#limits.perUser),
      )
      .executeTakeFirst()
    if (numUpdatedRows > 0n) await this.#database.revocations.announce(tx, userId)
    return Number(numUpdatedRows)
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
}

/** A user agent as it is stored: bounded, and without what a column of text cannot hold. */
export function keptUserAgent(userAgent: string | undefined): string | null {
  return userAgent?.slice(0, longestUserAgent).toWellFormed().replaceAll('\0', '') ?? null
}
