import type { CompiledQuery } from 'kysely'
import type { Database } from '../storage/database.ts'
import type { AuthenticationProof, Role } from '../storage/tables.ts'
import { translateError } from '../storage/unavailable.ts'
import { roleExpression, type IdentityKey } from './roles.ts'
import { SessionCache } from './session-cache.ts'

export interface Session {
  id: string
  userId: string
  role: Role
  provider: string
  createdAt: number
  lastSeenAt: number
  authenticatedAt: number
  /** Null for a session that an older version began. */
  authenticationProof: AuthenticationProof | null
  acr: string | null
  amr: string | null
  expiresAt: number
}

/** Sessions kept in memory: about 4 MB. */
const capacity = 10_000

/**
 * Finds the session of a token: the one query that every request with a cookie makes. It is compiled once. On SQLite it
 * is one indexed read. On PostgreSQL, where a read is a round trip, what was read is kept for as long as the database
 * can tell that nobody took it back.
 */
export class SessionLookup {
  readonly #database: Database
  readonly #sql: string
  /** The parameters before the last one, which is the hash. */
  readonly #fixed: readonly string[]
  readonly #cache = new SessionCache<Session>(capacity)

  constructor(database: Database, admins: readonly IdentityKey[]) {
    this.#database = database
    const { sql, parameters } = compile(database, admins)
    this.#sql = sql
    this.#fixed = parameters.slice(0, -1) as string[]
    database.revocations.listen((userId) => this.#cache.forget(userId))
  }

  /**
   * The session of a token's hash that is neither revoked nor its user's who is blocked. Its times are the caller's to
   * judge. @param usable what is kept is taken only if it says so, and read again otherwise.
   */
  async find(hash: Buffer, usable: (session: Session) => boolean): Promise<Session | undefined> {
    const parameters = [...this.#fixed, hash]
    if (this.#database.engine === 'sqlite') {
      return this.#database.readConnection.get<Session>(this.#sql, parameters)
    }
    const { pool, revocations } = this.#database
    const key = hash.toString('base64')
    const kept = revocations.current ? this.#cache.get(key) : undefined
    if (kept && usable(kept)) return kept
    const { generation } = this.#cache
    const { rows } = await pool
      .query<Session>({ name: 'session', text: this.#sql, values: parameters })
      .catch((error: unknown) => {
        throw translateError(error)
      })
    const [found] = rows
    if (found && revocations.current) this.#cache.set(key, found, generation)
    return found
  }
}

function compile({ reader }: Database, admins: readonly IdentityKey[]): CompiledQuery {
  return (
    reader
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
      ])
      .select(roleExpression(admins).as('role'))
      .where('sessions.revoked_at', 'is', null)
      .where('users.blocked_at', 'is', null)
      // Last, since its parameter is the one that changes.
      .where('sessions.token_hash', '=', Buffer.alloc(0))
      .compile()
  )
}
