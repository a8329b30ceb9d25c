import type { CompiledQuery } from 'kysely'
import { hashToken } from '../../crypto/tokens.ts'
import type { Database, Queryable } from '../../storage/database.ts'
import type { AuthenticationProof, Role } from '../../storage/tables.ts'
import { poolRows } from '../../storage/postgres/pool/connection-shares.ts'
import { roleExpression, type AdminRule } from '../users/roles.ts'

/**
 * An LRU cache of sessions by their token. A caller reads `generation` before it queries the database and passes
 * it to `set`: a result that an invalidation has overtaken is not cached.
 */
export class SessionCache<T extends { userId: string }> {
  readonly #capacity: number
  readonly #entries = new Map<string, T>()
  readonly #keysOfUser = new Map<string, Set<string>>()
  #generation = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#entries.size
  }

  /** Grows with each invalidation. */
  get generation(): number {
    return this.#generation
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    // As long as there is plenty of room, the order does not matter.
    if (this.#entries.size < this.#capacity * 0.9) return entry
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }

  /** Caches an entry, unless anything was invalidated since `generation`. */
  set(key: string, entry: T, generation: number): void {
    if (generation !== this.#generation) return
    this.#remove(key)
    this.#entries.set(key, entry)
    const keys = this.#keysOfUser.get(entry.userId)
    if (keys) keys.add(key)
    else this.#keysOfUser.set(entry.userId, new Set([key]))
    if (this.#entries.size > this.#capacity) {
      const [oldest] = this.#entries.keys()
      this.#remove(oldest!)
    }
  }

  /** Removes a user's sessions; all sessions when `userId` is `undefined`. */
  invalidate(userId: string | undefined): void {
    this.#generation += 1
    if (userId === undefined) {
      this.#entries.clear()
      this.#keysOfUser.clear()
      return
    }
    for (const key of this.#keysOfUser.get(userId) ?? []) this.#entries.delete(key)
    this.#keysOfUser.delete(userId)
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#entries.delete(key)
    const keys = this.#keysOfUser.get(entry.userId)
    keys?.delete(key)
    if (keys?.size === 0) this.#keysOfUser.delete(entry.userId)
  }
}

export interface Session {
  id: string
  userId: string
  role: Role
  provider: string
  createdAt: number
  lastSeenAt: number
  authenticatedAt: number
  /** Null for a session that an older version created. */
  authenticationProof: AuthenticationProof | null
  acr: string | null
  amr: string | null
  expiresAt: number
  /** The admin who acts for the user, and the admin's own session; null for a session that the user signed in to. */
  impersonatorId: string | null
  impersonatorSessionId: string | null
}

/** Sessions in the cache at most: about 4 MB. */
const capacity = 10_000

/** A session, found by the token of a host other than the service's own. */
export interface SessionAtHost extends Session {
  host: string
}

/**
 * Finds the session of a token. Every request with a session cookie runs this query, so it is compiled once, and its results are cached for as
 * long as nothing can have changed: on PostgreSQL while this process is sure to hear of revocations, on SQLite until the next commit.
 */
export class SessionLookup<Found extends Session = Session> {
  readonly #database: Database
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
  constructor(database: Database, name: string, { sql, parameters }: CompiledQuery) {
    this.#database = database
    this.#name = name
    this.#sql = sql
    this.#leadingParameters = parameters.slice(0, -1) as string[]
    database.revocations.listen((userId) => this.#cache.invalidate(userId))
  }

  /** As `find`, if the session is cached. A session that is not cached may exist. */
  cached(token: string): Found | undefined {
    return this.era === undefined ? undefined : this.#cache.get(token)
  }

  /**
   * A number that changes when a cached session may have changed: until then, what was derived from one holds. `undefined` while this
   * process may not hear of changes.
   */
  get era(): number | undefined {
    const database = this.#database
    if (database.engine === 'postgres')
      return database.revocations.current ? this.#cache.generation : undefined
    const version = database.dataVersion()
    if (version !== this.#version) {
      this.#version = version
      this.#cache.invalidate(undefined)
    }
    return this.#cache.generation
  }

  /** Reads the session of a token; `undefined` when it is unknown or revoked or its user is blocked. The caller checks its expiry. */
  async find(token: string): Promise<Found | undefined> {
    const { generation } = this.#cache
    const found = await this.#read([...this.#leadingParameters, hashToken(token)])
    const isCurrent = this.#database.engine === 'sqlite' || this.#database.revocations.current
    // Changes to the admin can end the session of an admin who acts for the user, and the cache is not notified of them.
    if (found && isCurrent && found.impersonatorId === null) this.#cache.set(token, found, generation)
    return found
  }

  async #read(parameters: (string | Buffer)[]): Promise<Found | undefined> {
    const database = this.#database
    if (database.engine === 'sqlite') return database.readConnection.get<Found>(this.#sql, parameters)
    const statement = { name: this.#name, text: this.#sql, values: parameters }
    const [found] = await poolRows<Found>(database.pool, statement)
    return found
  }
}

/** The session of an id; `undefined` as with `SessionLookup.find`. */
export async function findSessionById(
  db: Queryable,
  admins: readonly AdminRule[],
  id: string,
): Promise<Session | undefined> {
  return selectSessions(db, admins).where('sessions.id', '=', id).executeTakeFirst()
}

/** The query by the token of the session's cookie. */
export function bySessionToken({ reader }: Database, admins: readonly AdminRule[]): CompiledQuery {
  return (
    selectSessions(reader, admins)
      // Last, because `find` appends this parameter.
      .where('sessions.token_hash', '=', Buffer.alloc(0))
      .compile()
  )
}

/** The query by the token of the cookie of another host. */
export function byHostToken({ reader }: Database, admins: readonly AdminRule[]): CompiledQuery {
  return selectSessions(reader, admins)
    .innerJoin('host_sessions', 'host_sessions.session_id', 'sessions.id')
    .select('host_sessions.host as host')
    .where('host_sessions.token_hash', '=', Buffer.alloc(0))
    .compile()
}

function selectSessions(reader: Queryable, admins: readonly AdminRule[]) {
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
      'sessions.authentication_proof as authenticationProof',
      'sessions.acr as acr',
      'sessions.amr as amr',
      'sessions.expires_at as expiresAt',
      'sessions.impersonator_id as impersonatorId',
      'sessions.impersonator_session_id as impersonatorSessionId',
    ])
    .select(roleExpression(admins, 'sessions').as('role'))
    .where('sessions.revoked_at', 'is', null)
    .where('users.blocked_at', 'is', null)
}
