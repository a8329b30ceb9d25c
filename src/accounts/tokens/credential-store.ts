import { buildOnce } from '../../storage/built-once.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import type { CredentialTable } from '../users/roles.ts'
import type { Authentication } from '../sessions/authentication.ts'
import { storableUserAgent } from '../audit/audit.ts'

/** Rows that one statement revokes at most: more than a user has. */
const batchSize = 1_000

/** Which of a user's credentials a call is about; all of them without a field. */
export interface CredentialFilter {
  id?: string | undefined
  exceptId?: string | undefined
  /** The provider of the sign-in. */
  provider?: string | undefined
  /** The app; for token families only. */
  clientId?: string | undefined
}

/** An admin who acts for a user. */
export interface Impersonation {
  adminId: string
  adminSessionId: string
  reason: string
  /** Milliseconds since 1970. */
  endsAt: number
}

/** What a sign-in gives its credential. */
export interface NewCredential {
  userId: string
  provider: string
  /** Null for an admin who acts for the user: the user does not see where admins are. */
  address: string | null
  userAgent: string | undefined
  authentication: Authentication
  impersonation?: Pick<Impersonation, 'adminId' | 'reason' | 'endsAt'> | undefined
}

/** The columns of a new credential that both tables have. */
export function newCredential(
  { userId, provider, address, userAgent, authentication, impersonation }: NewCredential,
  now: number,
  expiresAt: number,
) {
  return {
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
    expires_at: expiresAt,
    revoked_at: null,
    impersonator_id: impersonation?.adminId ?? null,
    impersonation_reason: impersonation?.reason ?? null,
  }
}

const listedColumns = [
  'id',
  'user_id',
  'provider',
  'address',
  'user_agent',
  'created_at',
  'last_seen_at',
  'expires_at',
  'impersonator_id',
  'impersonation_reason',
] as const

/** A session or token family in a list. */
export type ListedCredential = Pick<Row<'token_families'>, (typeof listedColumns)[number]>

interface BeyondLimit {
  userId: string
  now: number
  limit: number
}

/** The rows of one of these tables, whose columns that are used here are the same, except `client_id`. */
export class CredentialStore {
  readonly #table: 'token_families'
  readonly #beyondLimit: ReturnType<typeof beyondLimitOf>
  readonly #impersonatedBeyondLimit: ReturnType<typeof beyondLimitOf>

  constructor(table: CredentialTable) {
    this.#table = table as 'token_families'
    this.#beyondLimit = beyondLimitOf(this.#table, false)
    this.#impersonatedBeyondLimit = beyondLimitOf(this.#table, true)
  }

  /**
   * A user's live credentials, newest first, as a query.
   * @param idle milliseconds without use after which one expires.
   */
  selectLive(
    db: Queryable,
    { userId, now, idle, limit }: { userId: string; now: number; idle: number; limit: number },
  ) {
    return db
      .selectFrom(this.#table)
      .select(listedColumns)
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', now)
      .where('last_seen_at', '>', now - idle)
      .orderBy('id', 'desc')
      .limit(limit)
  }

  /** Revokes those of a user's credentials that are not revoked yet. Returns their ids. */
  async revoke(
    tx: Tx,
    { userId, now, filter }: { userId: string; now: number; filter: CredentialFilter },
  ): Promise<string[]> {
    const { id, exceptId, provider, clientId } = filter
    let rows = tx
      .updateTable(this.#table)
      .set({ revoked_at: now })
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
    if (id !== undefined) rows = rows.where('id', '=', id)
    if (exceptId !== undefined) rows = rows.where('id', '<>', exceptId)
    if (provider !== undefined) rows = rows.where('provider', '=', provider)
    if (clientId !== undefined) rows = rows.where('client_id', '=', clientId)
    return (await rows.returning('id').execute()).map((row) => row.id)
  }

  /**
   * Revokes a user's least recently used credentials, so that `limit` of them remain. Returns their ids.
   * @param impersonated whether to count those of admins who act for the user, or the user's own: the former must end none of the latter
   */
  async revokeBeyondLimit(tx: Tx, selection: BeyondLimit, impersonated = false): Promise<string[]> {
    const statement = impersonated ? this.#impersonatedBeyondLimit : this.#beyondLimit
    const { rows } = await tx.executeQuery(statement(tx, selection))
    return rows.map(({ id }) => id)
  }

  /** Deletes credentials that are revoked or expired. @param idle milliseconds without use after which one expires. */
  async deleteEnded(tx: Tx, { now, idle }: { now: number; idle: number }): Promise<void> {
    await tx
      .deleteFrom(this.#table)
      .where((eb) =>
        eb.or([
          eb('expires_at', '<=', now),
          eb('last_seen_at', '<=', now - idle),
          eb('revoked_at', 'is not', null),
        ]),
      )
      .execute()
  }
}

function beyondLimitOf(table: 'token_families', impersonated: boolean) {
  return buildOnce((db, { userId, now, limit }: BeyondLimit) =>
    db
      .updateTable(table)
      .set({ revoked_at: now })
      .where('id', 'in', (eb) =>
        eb
          .selectFrom(table)
          .select('id')
          .where('user_id', '=', userId)
          .where('revoked_at', 'is', null)
          .where('expires_at', '>', now)
          .where('impersonator_id', impersonated ? 'is not' : 'is', null)
          .orderBy('last_seen_at', 'desc')
          .orderBy('id', 'desc')
          .limit(batchSize)
          .offset(limit),
      )
      .returning('id'),
  )
}
