import type { Clock } from '../clock.ts'
import { newId } from '../crypto/ids.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import type { Database, Queryable, Tx } from '../storage/database.ts'
import type { Role } from '../storage/tables.ts'
import { roleExpression, type IdentityKey } from './roles.ts'
import type { SessionLimits } from './sessions.ts'

/** Milliseconds in which a token that was just used may be used again: parallel tabs refresh at the same moment. */
export const reuseGrace = 10_000

/** One sign-in of one app: all refresh tokens that came from it, and what its access tokens name as `sid`. */
export interface Family {
  familyId: string
  userId: string
  clientId: string
  authenticatedAt: number
}

/**
 * Refresh tokens rotate: each is used once and gives the next. One that comes back later was copied by somebody, and
 * nobody can tell who is the thief, so its whole family ends (RFC 9700, section 4.14.2).
 */
export class RefreshTokens {
  readonly #database: Database
  readonly #clock: Clock
  readonly #limits: SessionLimits
  readonly #admins: readonly IdentityKey[]

  constructor(parts: {
    database: Database
    clock: Clock
    limits: SessionLimits
    admins: readonly IdentityKey[]
  }) {
    this.#database = parts.database
    this.#clock = parts.clock
    this.#limits = parts.limits
    this.#admins = parts.admins
  }

  newFamilyId(): string {
    return newId(this.#clock.now())
  }

  /** Adds a token to a family, the first one included. */
  async issue(tx: Tx, family: Family): Promise<string> {
    const now = this.#clock.now()
    const token = newToken('rt_')
    await tx
      .insertInto('refresh_tokens')
      .values({
        token_hash: hashToken(token),
        family_id: family.familyId,
        user_id: family.userId,
        client_id: family.clientId,
        authenticated_at: family.authenticatedAt,
        created_at: now,
        expires_at: Math.min(now + this.#limits.idle, family.authenticatedAt + this.#limits.lifetime),
        used_at: null,
        revoked_at: null,
      })
      .execute()
    return token
  }

  /** Exchanges a token for the next one. `undefined` when it is not (or no longer) good for this app. */
  async rotate(token: string, clientId: string): Promise<{ family: Family; token: string } | undefined> {
    const now = this.#clock.now()
    const hash = hashToken(token)
    return this.#database.transaction(async (tx) => {
      const fresh = await tx
        .updateTable('refresh_tokens')
        .set({ used_at: now })
        .where('token_hash', '=', hash)
        .where('client_id', '=', clientId)
        .where('used_at', 'is', null)
        .where('revoked_at', 'is', null)
        .where('expires_at', '>', now)
        .returning('family_id')
        .executeTakeFirst()
      const row = await tx
        .selectFrom('refresh_tokens')
        .selectAll()
        .where('token_hash', '=', hash)
        .executeTakeFirst()
      if (!row || row.client_id !== clientId || row.revoked_at !== null || row.expires_at <= now)
        return undefined
      if (!fresh && (row.used_at ?? 0) <= now - reuseGrace) {
        await this.revokeFamily(tx, row.family_id)
        return undefined
      }
      const family = {
        familyId: row.family_id,
        userId: row.user_id,
        clientId,
        authenticatedAt: row.authenticated_at,
      }
      if (!(await this.liveRole(tx, family.familyId, family.userId))) return undefined
      return { family, token: await this.issue(tx, family) }
    })
  }

  async revokeFamily(tx: Tx, familyId: string): Promise<void> {
    await tx
      .updateTable('refresh_tokens')
      .set({ revoked_at: this.#clock.now() })
      .where('family_id', '=', familyId)
      .where('revoked_at', 'is', null)
      .execute()
  }

  /** Ends a family by its id: signing out of an app. `record` writes it down in the same transaction. */
  async end(familyId: string, record?: (tx: Tx) => Promise<void>): Promise<void> {
    await this.#database.transaction(async (tx) => {
      await this.revokeFamily(tx, familyId)
      await record?.(tx)
    })
  }

  /** The role of the user behind a family; `undefined` when the family was revoked or is over, or the user is blocked. */
  async liveRole(db: Queryable, familyId: string, userId: string): Promise<Role | undefined> {
    const row = await db
      .selectFrom('refresh_tokens')
      .innerJoin('users', 'users.id', 'refresh_tokens.user_id')
      .select(roleExpression(this.#admins).as('role'))
      .where('refresh_tokens.family_id', '=', familyId)
      .where('refresh_tokens.user_id', '=', userId)
      .where('refresh_tokens.revoked_at', 'is', null)
      .where('refresh_tokens.expires_at', '>', this.#clock.now())
      .where('users.blocked_at', 'is', null)
      .limit(1)
      .executeTakeFirst()
    return row?.role
  }

  async sweep(now: number): Promise<void> {
    await this.#database.transaction(
      (tx) => tx.deleteFrom('refresh_tokens').where('expires_at', '<=', now).execute(),
      {
        lane: 'work',
      },
    )
  }
}
