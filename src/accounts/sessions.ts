import type { Clock } from '../runtime/clock.ts'
import { newId } from '../crypto/ids.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { RecordAudit } from './audit.ts'
import type { Authentication } from './authentication.ts'
import { LastSeenWriter } from './last-seen-writer.ts'
import {
  deleteEndedCredentials,
  revokeBeyondLimit,
  revokeCredentials,
  selectLiveCredentials,
  type CredentialFilter,
  type ListedCredential,
} from './credential-store.ts'
import type { AdminRule } from './roles.ts'
import { bySessionToken, SessionLookup, type Session } from './session-lookup.ts'
import { storableUserAgent } from './user-agent.ts'

export interface SessionLimits {
  /** Milliseconds without use after which a session expires. */
  idle: number
  /** Milliseconds after which it expires in any case. */
  lifetime: number
  /** Sessions of a user at most, and as many token families. The least recently used ones are revoked first. */
  perUser: number
}

export function sessionLimits(settings: {
  sessionIdle: number
  sessionLifetime: number
  sessionsPerUser: number
}): SessionLimits {
  const { sessionIdle: idle, sessionLifetime: lifetime, sessionsPerUser: perUser } = settings
  return { idle, lifetime, perUser }
}

export interface NewSession {
  userId: string
  provider: string
  address: string
  userAgent: string | undefined
  authentication: Authentication
}

/** For the session cookie; `maxAge` in seconds. */
export interface SessionToken {
  token: string
  maxAge: number
}

export interface SessionsParts {
  database: Database
  clock: Clock
  log: Log
  limits: SessionLimits
  admins: readonly AdminRule[]
  record: RecordAudit
}

/** Browser sessions: an opaque token in a cookie, and its hash in a row, so that a session can be revoked. */
export class Sessions {
  readonly #parts: SessionsParts
  readonly #lookup: SessionLookup
  readonly #lastSeen: LastSeenWriter

  constructor(parts: SessionsParts) {
    this.#parts = parts
    this.#lookup = new SessionLookup(parts.database, 'session', bySessionToken(parts.database, parts.admins))
    this.#lastSeen = new LastSeenWriter(parts.database, parts.log)
  }

  /** Creates a session with a new token, and revokes the user's least recently used sessions beyond the limit. */
  async create(
    tx: Tx,
    { userId, provider, address, userAgent, authentication }: NewSession,
  ): Promise<SessionToken & { id: string }> {
    const { database, clock, limits, record } = this.#parts
    const now = clock.now()
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
        user_agent: storableUserAgent(userAgent),
        created_at: now,
        last_seen_at: now,
        authenticated_at: authentication.at,
        authentication_proof: authentication.proof,
        acr: authentication.acr,
        amr: authentication.amr,
        expires_at: now + limits.lifetime,
        revoked_at: null,
      })
      .execute()
    const count = await revokeBeyondLimit(tx, 'sessions', { userId, now, limit: limits.perUser })
    if (count > 0) {
      await database.revocations.announce(tx, userId)
      const detail = { reason: 'limit', count }
      await record(tx, { action: 'session.revoked', userId, address, userAgent, detail })
    }
    return { id, token, maxAge: Math.floor(limits.lifetime / 1000) }
  }

  /** The live session of a token; `undefined` when it is unknown, expired or revoked, or its user is blocked. */
  async find(token: string): Promise<Session | undefined> {
    return this.findBy(this.#lookup, token)
  }

  /** As `find`, by a token that `lookup` knows. */
  async findBy<Found extends Session>(
    lookup: SessionLookup<Found>,
    token: string,
  ): Promise<Found | undefined> {
    const { clock, limits } = this.#parts
    const now = clock.now()
    const isLive = ({ expiresAt, lastSeenAt }: Session): boolean =>
      expiresAt > now && lastSeenAt > now - limits.idle
    const session = await lookup.find(hashToken(token), isLive)
    if (!session || !isLive(session)) return undefined
    this.#lastSeen.update(session, now)
    return session
  }

  /**
   * Replaces the token of a live session. Called when the rights of the session change, so that an older copy of the
   * token has no use. `undefined` when the session is revoked.
   */
  async renewToken(tx: Tx, id: string): Promise<SessionToken | undefined> {
    const { database, clock } = this.#parts
    const token = newToken()
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
    return { token, maxAge: Math.max(1, Math.floor((row.expires_at - clock.now()) / 1000)) }
  }

  /** The user's live sessions, newest first, `limit` at most. */
  async list(userId: string, limit: number): Promise<ListedCredential[]> {
    const { database, clock, limits } = this.#parts
    const selection = { userId, now: clock.now(), idle: limits.idle, limit }
    return selectLiveCredentials(database.reader, 'sessions', selection).execute()
  }

  /** Revokes one session and runs `record` in the same transaction. False when the user has no such session. */
  async revoke(userId: string, id: string, record?: (tx: Tx) => Promise<void>): Promise<boolean> {
    const { database, clock } = this.#parts
    return database.transaction(async (tx) => {
      const selection = { userId, now: clock.now(), filter: { id } }
      if ((await revokeCredentials(tx, 'sessions', selection)) === 0) return false
      await database.revocations.announce(tx, userId)
      await record?.(tx)
      return true
    })
  }

  /** Revokes a user's sessions that match the filter. Returns their number. */
  async revokeAll(tx: Tx, userId: string, filter: CredentialFilter = {}): Promise<number> {
    const { database, clock } = this.#parts
    const count = await revokeCredentials(tx, 'sessions', { userId, now: clock.now(), filter })
    await database.revocations.announce(tx, userId)
    return count
  }

  /** Revokes the session of a token, if there is one. Called when its browser signs in again. */
  async revokeToken(tx: Tx, token: string): Promise<void> {
    const { database, clock } = this.#parts
    const revoked = await tx
      .updateTable('sessions')
      .set({ revoked_at: clock.now() })
      .where('token_hash', '=', hashToken(token))
      .where('revoked_at', 'is', null)
      .returning('user_id')
      .executeTakeFirst()
    if (revoked) await database.revocations.announce(tx, revoked.user_id)
  }

  async sweep(now: number): Promise<void> {
    const { database, limits } = this.#parts
    await database.transaction((tx) => deleteEndedCredentials(tx, 'sessions', { now, idle: limits.idle }), {
      priority: 'work',
    })
  }
}
