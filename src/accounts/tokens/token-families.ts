import type { AccountBasis } from '../services.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import type { AuditOrigin } from '../audit/audit.ts'
import { recordLogouts } from '../sessions/apps-of-sessions.ts'
import { roleExpression } from '../users/roles.ts'
import { CredentialStore, type CredentialFilter, type ListedCredential } from './credential-store.ts'
import type { Sessions } from '../sessions/sessions.ts'

/** Milliseconds after its first use in which a token may be used again: parallel tabs refresh at the same moment. */
export const reuseGrace = 10_000

/** The rows of families, as credentials that are revoked, listed and deleted. */
export const familyCredentials = new CredentialStore('token_families')

/** The sign-in of a user in one app, with all refresh tokens that came from it. Access tokens name it as `sid`. */
export type Family = ReturnType<typeof familyFrom>

export function familyFrom(row: Row<'token_families'>) {
  return {
    familyId: row.id,
    userId: row.user_id,
    clientId: row.client_id,
    /** The provider of the sign-in. */
    provider: row.provider,
    /** `auth_time` of the provider; undefined if it gave none: the time of the sign-in here is not that of the authentication. */
    authenticatedAt: row.authentication_proof === 'verified' ? row.authenticated_at : undefined,
    /** When it ends, whatever it is used for. Milliseconds since 1970. */
    expiresAt: row.expires_at,
    acr: row.acr,
    amr: row.amr,
    /** The granted scopes, separated by spaces; null for a sign-in at GET /auth/{provider}, which has none. */
    scope: row.scope,
    /** The APIs that were asked for (RFC 8707), separated by spaces; null for those of the client's configuration. */
    resource: row.resource,
    /** As in the table. */
    claims: row.claims,
    /** The admin who acts for the user; null for the user's own sign-in. */
    impersonatorId: row.impersonator_id,
  }
}

/** What an access token needs of a live family. */
export type LiveFamily = NonNullable<Awaited<ReturnType<TokenFamilies['findLive']>>>

/** A token family in a list. */
type ListedFamily = ListedCredential & Pick<Row<'token_families'>, 'client_id' | 'scope'>

/** The sign-ins of users in apps: finds, lists and revokes them. `RefreshTokens` creates them. */
export class TokenFamilies {
  readonly #parts: AccountBasis & { sessions: Sessions }

  constructor(parts: AccountBasis & { sessions: Sessions }) {
    this.#parts = parts
  }

  /**
   * A family with its user's role; `undefined` when it is revoked, expired or idle, or its user is blocked, or when the session has ended
   * in which an admin acts for the user.
   */
  async findLive(db: Queryable, familyId: string, userId: string) {
    const { clock, limits, admins } = this.#parts
    const now = clock.now()
    const family = await db
      .selectFrom('token_families')
      .innerJoin('users', 'users.id', 'token_families.user_id')
      .select(['token_families.client_id as clientId', 'token_families.provider as provider'])
      .select(['token_families.acr as acr', 'token_families.amr as amr', 'token_families.scope as scope'])
      .select('token_families.claims as claims')
      .select(['token_families.impersonator_id as impersonatorId', 'token_families.session_id as sessionId'])
      .select(roleExpression(admins, 'token_families').as('role'))
      .where('token_families.id', '=', familyId)
      .where('token_families.user_id', '=', userId)
      .where('token_families.revoked_at', 'is', null)
      .where('token_families.expires_at', '>', now)
      .where('token_families.last_seen_at', '>', now - limits.idle)
      .where('users.blocked_at', 'is', null)
      .executeTakeFirst()
    if (!family || family.impersonatorId === null) return family
    const isLive = family.sessionId !== null && (await this.#parts.sessions.isLiveById(db, family.sessionId))
    return isLive ? family : undefined
  }

  /** The user of a family, which may have ended. */
  async ownerOf(db: Queryable, familyId: string): Promise<string | undefined> {
    const family = db.selectFrom('token_families').select('user_id').where('id', '=', familyId)
    return (await family.executeTakeFirst())?.user_id
  }

  /** The browser session that a family came from, which may have ended; `undefined` without one, and for an unknown family. */
  async sessionOf(db: Queryable, familyId: string): Promise<string | undefined> {
    const family = db.selectFrom('token_families').select('session_id').where('id', '=', familyId)
    return (await family.executeTakeFirst())?.session_id ?? undefined
  }

  /** The user's live families, of one app when `clientId` is given, newest first, `limit` at most. */
  async list(
    userId: string,
    limit: number,
    { clientId }: Pick<CredentialFilter, 'clientId'> = {},
  ): Promise<ListedFamily[]> {
    const { database, clock, limits } = this.#parts
    const selection = { userId, now: clock.now(), idle: limits.idle, limit }
    const families = familyCredentials.selectLive(database.reader, selection).select(['client_id', 'scope'])
    return (clientId === undefined ? families : families.where('client_id', '=', clientId)).execute()
  }

  /** Revokes one family and runs `record` in the same transaction. False when the user has no such family. */
  async revoke(
    userId: string,
    id: string,
    record?: (tx: Tx) => Promise<void>,
    { clientId }: Pick<CredentialFilter, 'clientId'> = {},
  ): Promise<boolean> {
    return this.#parts.database.transaction(async (tx) => {
      if ((await this.#revokeFamilies(tx, userId, { id, clientId })) === 0) return false
      await record?.(tx)
      return true
    })
  }

  /** Revokes a user's families that match the filter, and codes that were not exchanged. Returns the number of families. */
  async revokeAll(tx: Tx, userId: string, filter: CredentialFilter = {}): Promise<number> {
    const { provider, clientId } = filter
    const matching = {
      user_id: userId,
      ...(provider !== undefined && { provider }),
      ...(clientId !== undefined && { client_id: clientId }),
    }
    await tx
      .deleteFrom('authorization_codes')
      .where((eb) => eb.and(matching))
      .where('used_at', 'is', null)
      .execute()
    // Devices that the user allowed to sign in and that have not got their tokens yet.
    await tx
      .deleteFrom('device_codes')
      .where((eb) => eb.and({ ...matching, status: 'approved' }))
      .execute()
    return this.#revokeFamilies(tx, userId, filter)
  }

  /** Revokes a family after a code or token of it was reused. */
  async revokeReused(
    tx: Tx,
    { id, user_id: userId, client_id: clientId }: Pick<Row<'token_families'>, 'id' | 'user_id' | 'client_id'>,
    origin: AuditOrigin,
  ): Promise<void> {
    if ((await this.#revokeFamilies(tx, userId, { id })) === 0) return
    await this.#parts.record(tx, {
      action: 'tokens.revoked',
      userId,
      target: `app:${clientId}`,
      detail: { reason: 'reuse' },
      ...origin,
    })
  }

  async sweep(now: number): Promise<void> {
    const { database, limits } = this.#parts
    await database.inBackground(async (tx) => {
      // A used token stays until all other successors of its parent have expired: it shows that one of them was used.
      await tx
        .deleteFrom('refresh_tokens')
        .where('expires_at', '<=', now - 2 * reuseGrace)
        .execute()
      await familyCredentials.deleteEnded(tx, { now, idle: limits.idle })
    })
  }

  async #revokeFamilies(tx: Tx, userId: string, filter: CredentialFilter): Promise<number> {
    const now = this.#parts.clock.now()
    const ids = await familyCredentials.revoke(tx, { userId, now, filter })
    await recordLogouts(tx, ids, now)
    return ids.length
  }
}
