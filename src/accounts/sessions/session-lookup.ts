import type { Compilable, InferResult } from 'kysely'
import { hashToken } from '../../crypto/secrets.ts'
import type { Queryable } from '../../storage/database.ts'
import { poolRows } from '../../storage/postgres/pool/connection-shares.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import type { AccountBasis } from '../services.ts'
import { roleExpression, type AdminRule } from '../users/roles.ts'

/**
 * An LRU cache of sessions by their token. A caller reads `generation` before it queries the database and passes
 * it to `add`: a result that an invalidation has overtaken is not cached.
 */
export class SessionCache<T extends { userId: string }> extends BoundedCache<string, T> {
  /** Grows with each invalidation. */
  generation = 0
  readonly #capacity: number

  constructor(capacity: number) {
    super(capacity)
    this.#capacity = capacity
  }

  override get(key: string): T | undefined {
    const entry = super.get(key)
    // As long as there is plenty of room, the order does not matter.
    if (!entry || this.size < this.#capacity * 0.9) return entry
    this.delete(key)
    this.set(key, entry)
    return entry
  }

  /** Caches an entry, unless anything was invalidated since `generation`. */
  add(key: string, entry: T, generation: number): void {
    if (generation === this.generation) this.set(key, entry)
  }

  /** Removes a user's sessions; all sessions when `userId` is `undefined`. Looks at each entry, which takes less than a millisecond. */
  invalidate(userId: string | undefined): void {
    this.generation += 1
    if (userId === undefined) return this.clear()
    for (const [key, entry] of this) if (entry.userId === userId) this.delete(key)
  }
}

export type Session = InferResult<ReturnType<typeof selectSessions>>[number]

/** A session, found by the token of a host other than the service's own. */
export type SessionAtHost = InferResult<ReturnType<typeof selectAtHost>>[number]

/** Sessions in the cache at most: about 4 MB. */
const capacity = 10_000

/**
 * Finds sessions by the tokens of one cookie. Every request with a session cookie runs the query, so it is compiled once, and its results are
 * cached for as long as nothing can have changed: on PostgreSQL while this process is sure to hear of revocations, on SQLite until the next
 * commit.
 */
export abstract class SessionLookup<Found extends Session = Session> {
  protected readonly parts: AccountBasis
  readonly #name: string
  readonly #sql: string
  /** All parameters but the last one, the hash. */
  readonly #leadingParameters: readonly string[]
  readonly #cache = new SessionCache<Found>(capacity)
  /** On SQLite: the version of the data that the cache is about. */
  #version = 0

  /**
   * @param name of the statement on PostgreSQL
   * @param query of which the hash is the last parameter
   */
  constructor(parts: AccountBasis, name: string, query: Compilable) {
    const { sql, parameters } = query.compile()
    this.parts = parts
    this.#name = name
    this.#sql = sql
    this.#leadingParameters = parameters.slice(0, -1) as string[]
    parts.database.revocations.listen((userId) => this.#cache.invalidate(userId))
  }

  /** The live session of a token; `undefined` when it is unknown, expired or revoked, or its user is blocked, and without a token. */
  async find(token: string | undefined): Promise<Found | undefined> {
    if (token === undefined) return undefined
    const cached = this.cached(token)
    if (cached) return cached
    const session = await this.#read(token)
    const { reader } = this.parts.database
    const isUsed = session && (await this.mayStay(reader, session, 'use')) && this.use(session)
    return isUsed ? session : undefined
  }

  /** As `find`, but the call does not count as use of the session. */
  async look(token: string | undefined): Promise<Found | undefined> {
    if (token === undefined) return undefined
    const isLive = (session: Found | undefined) => session !== undefined && this.isLive(session)
    const cached = this.#cached(token)
    if (isLive(cached)) return cached
    // Another process may have stored a later use.
    const session = await this.#read(token)
    if (session && !(await this.mayStay(this.parts.database.reader, session))) return undefined
    return isLive(session) ? session : undefined
  }

  /** As `find`, without waiting, if the session is cached. A session that is not cached may exist. */
  cached(token: string): Found | undefined {
    const session = this.#cached(token)
    return session && this.use(session) ? session : undefined
  }

  #cached(token: string): Found | undefined {
    return this.era === undefined ? undefined : this.#cache.get(token)
  }

  /**
   * A number that changes when a cached session may have changed: until then, what was derived from one holds. `undefined` while this
   * process may not hear of changes.
   */
  get era(): number | undefined {
    const { database } = this.parts
    if (database.engine === 'postgres')
      return database.revocations.current ? this.#cache.generation : undefined
    const version = database.dataVersion()
    if (version !== this.#version) {
      this.#version = version
      this.#cache.invalidate(undefined)
    }
    return this.#cache.generation
  }

  /** Uses a session that was found in the present era. Answers false if it has expired since. */
  use(session: Found): boolean {
    const now = this.parts.clock.now()
    if (!this.isLive(session, now)) return false
    this.parts.lastSeen.update(session, now)
    return true
  }

  protected isLive({ expiresAt, lastSeenAt }: Session, now = this.parts.clock.now()): boolean {
    return expiresAt > now && lastSeenAt > now - this.parts.limits.idle
  }

  /**
   * False for a session in which an admin acts for the user, if the admin may no longer do so: the admin's own session ended or is not an
   * admin's, the setting is off, or the user is an admin now.
   * @param use counts as use of the admin's own session, so it does not become idle
   */
  protected async mayStay(db: Queryable, session: Session, use?: 'use'): Promise<boolean> {
    const { impersonatorId, impersonatorSessionId } = session
    if (impersonatorId === null) return true
    if (impersonatorSessionId === null || session.role === 'admin') return false
    const { admins, clock, lastSeen, mayImpersonate } = this.parts
    const own = await findSessionById(db, admins, impersonatorSessionId)
    if (own?.userId !== impersonatorId || !this.isLive(own) || !mayImpersonate(own)) return false
    if (use) lastSeen.update(own, clock.now())
    return true
  }

  /** Reads the session of a token; `undefined` when it is unknown or revoked or its user is blocked. The caller checks its expiry. */
  async #read(token: string): Promise<Found | undefined> {
    const { database } = this.parts
    const { generation } = this.#cache
    const values = [...this.#leadingParameters, hashToken(token)]
    const found =
      database.engine === 'sqlite'
        ? database.readConnection.get<Found>(this.#sql, values)
        : (await poolRows<Found>(database.pool, { name: this.#name, text: this.#sql, values }))[0]
    const isCurrent = database.engine === 'sqlite' || database.revocations.current
    // Changes to the admin can end the session of an admin who acts for the user, and the cache is not notified of them.
    if (found && isCurrent && found.impersonatorId === null) this.#cache.add(token, found, generation)
    return found
  }
}

/** The session of an id; `undefined` when it is unknown or revoked or its user is blocked. Callers check expiry and impersonation. */
export async function findSessionById(
  db: Queryable,
  admins: readonly AdminRule[],
  id: string,
): Promise<Session | undefined> {
  return selectSessions(db, admins).where('sessions.id', '=', id).executeTakeFirst()
}

/** The sessions of other hosts' cookies. */
export function selectAtHost(reader: Queryable, admins: readonly AdminRule[]) {
  return selectSessions(reader, admins)
    .innerJoin('host_sessions', 'host_sessions.session_id', 'sessions.id')
    .select('host_sessions.host as host')
}

/** Sessions that are not revoked, of users who are not blocked. */
export function selectSessions(reader: Queryable, admins: readonly AdminRule[]) {
  return reader
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select([
      'sessions.id as id',
      'sessions.user_id as userId',
      'sessions.provider as provider',
      'sessions.created_at as createdAt',
      'sessions.last_seen_at as lastSeenAt',
      'sessions.authenticated_at as authenticatedAt',
      // Null for a session that an older version created.
      'sessions.authentication_proof as authenticationProof',
      'sessions.acr as acr',
      'sessions.amr as amr',
      'sessions.expires_at as expiresAt',
      // The admin who acts for the user, and the admin's own session; null for a session that the user signed in to.
      'sessions.impersonator_id as impersonatorId',
      'sessions.impersonator_session_id as impersonatorSessionId',
    ])
    .select(roleExpression(admins, 'sessions').as('role'))
    .where('sessions.revoked_at', 'is', null)
    .where('users.blocked_at', 'is', null)
}
