import type { AccountBasis } from '../services.ts'
import { newId } from '../../crypto/ids.ts'
import { hashToken, newToken } from '../../crypto/secrets.ts'
import { maxAgeUntil } from '../../http/responses/host-cookie.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import { endAppsOfSessions, moveAppsOfSession } from './apps-of-sessions.ts'
import {
  CredentialStore,
  type CredentialFilter,
  type Impersonation,
  type ListedCredential,
  type NewCredential,
  newCredential,
} from '../tokens/credential-store.ts'
import {
  findSessionById,
  selectAtHost,
  selectSessions,
  type Session,
  SessionLookup,
  type SessionAtHost,
} from './session-lookup.ts'

export interface SessionLimits {
  /** Milliseconds without use after which a session expires. */
  idle: number
  /** Milliseconds after which it expires in any case. */
  lifetime: number
  /** Sessions of a user at most, and as many token families. The least recently used ones are revoked first. */
  perUser: number
}

const credentials = new CredentialStore('sessions')
/** Stands for the hash of a token while a query is compiled. */
const anyHash = Buffer.alloc(0)

interface NewSession extends NewCredential {
  impersonation?: Impersonation | undefined
  /** Default: a new one. */
  token?: string | undefined
}

/** For the session cookie; `maxAge` in seconds. */
export interface SessionToken {
  token: string
  maxAge: number
}

/** Browser sessions: an opaque token in a cookie, and its hash in a row, so that a session can be revoked. */
export class Sessions extends SessionLookup {
  constructor(parts: AccountBasis) {
    const { database, admins } = parts
    const sessions = selectSessions(database.reader, admins)
    super(parts, 'session', sessions.where('sessions.token_hash', '=', anyHash))
  }

  /**
   * Creates a session with a new token, and revokes the user's least recently used sessions beyond the limit.
   * @param replaced the token of the browser's session until now, which ends
   */
  async create(tx: Tx, session: NewSession, replaced?: string): Promise<SessionToken & { id: string }> {
    const { clock, limits, record, lastSeen } = this.parts
    const { userId, address, userAgent, impersonation, token = newToken() } = session
    const now = clock.now()
    const id = newId(now)
    if (replaced !== undefined) await this.#replace(tx, replaced, { id, userId })
    const expiresAt = Math.min(now + limits.lifetime, impersonation?.endsAt ?? Infinity)
    await tx
      .insertInto('sessions')
      .values({
        id,
        token_hash: hashToken(token),
        ...newCredential(session, now, expiresAt),
        impersonator_session_id: impersonation?.adminSessionId ?? null,
      })
      .execute()
    const created = { id, token, maxAge: maxAgeUntil(expiresAt, now) }
    // An admin who acts for the user does not use the account, and ends none of the user's sessions.
    if (impersonation) return created
    const ended = await credentials.revokeBeyondLimit(tx, { userId, now, limit: limits.perUser })
    if (ended.length > 0) {
      await this.#afterEnd(tx, userId, ended)
      const detail = { reason: 'limit', count: ended.length }
      await record(tx, {
        action: 'session.revoked',
        userId,
        address: address ?? undefined,
        userAgent,
        detail,
      })
    }
    lastSeen.updateUser(userId, now)
    return created
  }

  /** Whether the session of an id is live, for tokens that must not outlive it. */
  async isLiveById(db: Queryable, id: string): Promise<boolean> {
    const session = await findSessionById(db, this.parts.admins, id)
    return session !== undefined && this.isLive(session) && this.mayStay(db, session)
  }

  /**
   * Replaces the token of a live session. Called when the rights of the session change, so that an older copy of the
   * token has no use. `undefined` when the session is revoked.
   */
  async renewToken(tx: Tx, id: string, token = newToken()): Promise<SessionToken | undefined> {
    const { database, clock } = this.parts
    const row = await tx
      .updateTable('sessions')
      .set({ token_hash: hashToken(token) })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .returning(['user_id', 'expires_at'])
      .executeTakeFirst()
    if (!row) return undefined
    // Those of other hosts are copies of the right to use the session too.
    await tx.deleteFrom('host_sessions').where('session_id', '=', id).execute()
    await database.revocations.announce(tx, row.user_id)
    return { token, maxAge: maxAgeUntil(row.expires_at, clock.now()) }
  }

  /** The user's live sessions, newest first, `limit` at most. */
  async list(userId: string, limit: number): Promise<ListedCredential[]> {
    const { database, clock, limits } = this.parts
    const selection = { userId, now: clock.now(), idle: limits.idle, limit }
    return credentials.selectLive(database.reader, selection).execute()
  }

  /** Revokes one session and runs `record` in the same transaction. False when the user has no such session. */
  async revoke(userId: string, id: string, record?: (tx: Tx) => Promise<void>): Promise<boolean> {
    return this.parts.database.transaction(async (tx) => {
      if ((await this.revokeAll(tx, userId, { id })) === 0) return false
      await record?.(tx)
      return true
    })
  }

  /** Revokes a user's sessions that match the filter. Returns their number. */
  async revokeAll(tx: Tx, userId: string, filter: CredentialFilter = {}): Promise<number> {
    const selection = { userId, now: this.parts.clock.now(), filter }
    const ended = await credentials.revoke(tx, selection)
    await this.#afterEnd(tx, userId, ended)
    return ended.length
  }

  /** Ends the session of a browser that signs in again. The same user stays signed in to the apps. */
  async #replace(tx: Tx, token: string, next: { id: string; userId: string }): Promise<void> {
    const old = await tx
      .updateTable('sessions')
      .set({ revoked_at: this.parts.clock.now() })
      .where('token_hash', '=', hashToken(token))
      .where('revoked_at', 'is', null)
      .returning(['id', 'user_id', 'impersonator_id', 'impersonator_session_id'])
      .executeTakeFirst()
    if (!old) return
    const { impersonator_id: adminId, impersonator_session_id: adminSessionId } = old
    if (old.user_id === next.userId && adminId === null)
      await moveAppsOfSession(tx, { userId: next.userId, from: old.id, to: next.id })
    await this.#afterEnd(tx, old.user_id, [old.id])
    // The new session replaces the admin's own, too: the browser can no longer restore it.
    if (adminId !== null && adminSessionId !== null) await this.revokeAll(tx, adminId, { id: adminSessionId })
  }

  /** What the end of sessions by a revocation causes, in the same transaction. */
  async #afterEnd(tx: Tx, userId: string, sessionIds: readonly string[]): Promise<void> {
    const { database, clock } = this.parts
    await database.revocations.announce(tx, userId)
    await endAppsOfSessions(tx, { userId, sessionIds, now: clock.now() })
    await this.endImpersonations(tx, sessionIds)
  }

  /** Ends the sessions that admins opened as users from these ones. Audits the end of these and of those among the given ones. */
  async endImpersonations(tx: Tx, sessionIds: readonly string[]): Promise<void> {
    if (sessionIds.length === 0) return
    const ended = await tx
      .selectFrom('sessions')
      .select(['id', 'user_id', 'impersonator_id', 'revoked_at'])
      .where('impersonator_session_id', 'is not', null)
      .where((eb) =>
        eb.or([
          eb('id', 'in', sessionIds),
          eb.and([eb('impersonator_session_id', 'in', sessionIds), eb('revoked_at', 'is', null)]),
        ]),
      )
      .execute()
    for (const { id, user_id: userId, impersonator_id: adminId, revoked_at: revokedAt } of ended) {
      // This calls this method again, for the entry below.
      if (revokedAt === null) await this.revokeAll(tx, userId, { id })
      else {
        const actor = `user:${adminId}`
        await this.parts.record(tx, {
          action: 'impersonation.ended',
          userId,
          actor,
          target: `session:${id}`,
        })
      }
    }
  }

  async sweep(now: number): Promise<void> {
    const { database, limits } = this.parts
    await database.inBackground((tx) => credentials.deleteEnded(tx, { now, idle: limits.idle }))
  }
}

/** Milliseconds in which tabs that sign in to one host at the same time each get a token. Older ones are replaced. */
const overlap = 60_000

/**
 * Tokens by which other hosts know a session of the service's own host. Each is valid at one host, and ends with the session.
 * The token of the session itself never leaves the service's host.
 */
export class HostSessions extends SessionLookup<SessionAtHost> {
  constructor(parts: AccountBasis) {
    const { database, admins } = parts
    const sessions = selectAtHost(database.reader, admins)
    super(parts, 'session-at-host', sessions.where('host_sessions.token_hash', '=', anyHash))
  }

  /**
   * Creates a token of a session for a host, which replaces the browser's older one. `undefined` when the session has ended.
   * @param host as in the configuration
   */
  async create(
    tx: Tx,
    { sessionId, host }: { sessionId: string; host: string },
  ): Promise<(SessionToken & Pick<Session, 'userId' | 'impersonatorId'>) | undefined> {
    const { database, clock } = this.parts
    const now = clock.now()
    const session = await tx
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['sessions.user_id as userId', 'sessions.expires_at as expiresAt'])
      .select('sessions.impersonator_id as impersonatorId')
      .where('sessions.id', '=', sessionId)
      .where('sessions.revoked_at', 'is', null)
      .where('sessions.expires_at', '>', now)
      .where('users.blocked_at', 'is', null)
      .executeTakeFirst()
    if (!session) return undefined
    const token = newToken()
    const replaced = await tx
      .deleteFrom('host_sessions')
      .where('session_id', '=', sessionId)
      .where('host', '=', host)
      .where('created_at', '<', now - overlap)
      .executeTakeFirst()
    await tx
      .insertInto('host_sessions')
      .values({ token_hash: hashToken(token), session_id: sessionId, host, created_at: now })
      .execute()
    // Processes may have it in memory.
    if (replaced.numDeletedRows > 0n) await database.revocations.announce(tx, session.userId)
    const { userId, impersonatorId, expiresAt } = session
    return { token, maxAge: maxAgeUntil(expiresAt, now), userId, impersonatorId }
  }
}
