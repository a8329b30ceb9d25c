import type { AccountBasis } from '../services.ts'
import { hashToken, newToken } from '../../crypto/tokens.ts'
import type { Tx } from '../../storage/database.ts'
import { byHostToken, SessionLookup, type SessionAtHost } from './session-lookup.ts'
import type { Sessions, SessionToken } from './sessions.ts'

/** Milliseconds in which tabs that sign in to one host at the same time each get a token. Older ones are replaced. */
const overlap = 60_000

/**
 * Tokens by which other hosts know a session of the service's own host. Each is valid at one host, and ends with the session.
 * The token of the session itself never leaves the service's host.
 */
export class HostSessions {
  readonly #parts: AccountBasis & { sessions: Sessions }
  readonly #lookup: SessionLookup<SessionAtHost>

  constructor(parts: AccountBasis & { sessions: Sessions }) {
    this.#parts = parts
    const { database, admins } = parts
    this.#lookup = new SessionLookup(database, 'session-at-host', byHostToken(database, admins))
  }

  /**
   * Creates a token of a session for a host, which replaces the browser's older one. `undefined` when the session has ended.
   * @param host as in the configuration
   */
  async create(
    tx: Tx,
    { sessionId, host }: { sessionId: string; host: string },
  ): Promise<(SessionToken & { userId: string }) | undefined> {
    const { database, clock } = this.#parts
    const now = clock.now()
    const session = await tx
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['sessions.user_id as userId', 'sessions.expires_at as expiresAt'])
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
    const maxAge = Math.max(1, Math.floor((session.expiresAt - now) / 1000))
    return { token, maxAge, userId: session.userId }
  }

  /** The live session of a token, and the host that the token is for; `undefined` as with `Sessions.find`. */
  async find(token: string): Promise<SessionAtHost | undefined> {
    return this.#parts.sessions.findBy(this.#lookup, token)
  }

  /** The era of sessions that `cached` finds: see `SessionLookup.era`. */
  get era(): number | undefined {
    return this.#lookup.era
  }

  /** As `find`, without waiting, if the session is cached. */
  cached(token: string): SessionAtHost | undefined {
    return this.#parts.sessions.cachedBy(this.#lookup, token)
  }
}
