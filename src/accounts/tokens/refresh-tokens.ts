import type { Clock } from '../../runtime/clock.ts'
import { newId } from '../../crypto/ids.ts'
import { hashToken, newToken } from '../../crypto/tokens.ts'
import { insertOf } from '../../storage/built-once.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { Role, TokenFamiliesTable } from '../../storage/tables.ts'
import type { AuditOrigin, RecordAudit } from '../audit/audit.ts'
import type { Authentication } from '../sessions/authentication.ts'
import { recordLogouts } from '../sessions/apps-of-sessions.ts'
import type { LastSeenWriter } from '../sessions/last-seen-writer.ts'
import { familyOf, findToken, reuseGrace, useToken } from './refresh-token-store.ts'
import { CredentialStore, type CredentialFilter, type ListedCredential } from './credential-store.ts'
import { roleExpression, type AdminRule } from '../users/roles.ts'
import type { NewSession, SessionLimits } from '../sessions/sessions.ts'
import { storableUserAgent } from '../sessions/user-agent.ts'

const credentials = new CredentialStore('token_families')

/** The sign-in of a user in one app, with all refresh tokens that came from it. Access tokens name it as `sid`. */
export interface Family {
  familyId: string
  userId: string
  clientId: string
  authenticatedAt: number
  acr: string | null
  amr: string | null
  /** The granted scopes, separated by spaces; null for a sign-in at GET /auth/{provider}, which has none. */
  scope: string | null
  /** The APIs that were asked for (RFC 8707), separated by spaces; null for those of the client's configuration. */
  resource: string | null
}

export interface NewFamily extends Omit<NewSession, 'address' | 'userAgent' | 'authentication'> {
  familyId: string
  clientId: string
  /** The browser's session that the app signed in with. */
  sessionId: string | null
  scope: string | null
  resource: string | null
  /** Milliseconds from now to its end at most. Default: SESSION_LIFETIME. */
  lifetime?: number | undefined
  authentication: Omit<Authentication, 'proof'>
  /** Of the browser in which the user signed in. */
  address: string | null
  userAgent: string | null
}

/** A refresh token and the sign-in that it belongs to. */
export interface DescribedToken {
  family: Family
  /** Whether an exchange would accept it now, as its first use. */
  active: boolean
  createdAt: number
  expiresAt: number
}

/** What an access token needs of a live family. */
export interface LiveFamily extends Pick<Authentication, 'acr' | 'amr'> {
  clientId: string
  provider: string
  role: Role
}

/** A token family in a list. */
export type ListedFamily = ListedCredential & Pick<TokenFamiliesTable, 'client_id' | 'scope'>

/** A code or refresh token that is unknown, used, expired or revoked (`invalid_grant` of RFC 6749). */
export interface InvalidGrant {
  invalidGrant: true
  /** The user of the grant, if known. */
  userId: string | undefined
}

export interface RefreshTokensParts {
  database: Database
  clock: Clock
  limits: SessionLimits
  admins: readonly AdminRule[]
  record: RecordAudit
  lastSeen: LastSeenWriter
}

/**
 * Rotating refresh tokens: each use issues a successor. A later reuse shows that the token was copied, and the service cannot
 * know which caller is the thief, so the whole family is revoked (RFC 9700, section 4.14.2). Parallel tabs that use a
 * token within the grace get one successor each, and only one of the successors can be used. So a copy that is used
 * within the grace is detected at the next refresh.
 */
export class RefreshTokens {
  readonly #parts: RefreshTokensParts

  constructor(parts: RefreshTokensParts) {
    this.#parts = parts
  }

  newFamilyId(): string {
    return newId(this.#parts.clock.now())
  }

  /** Creates a family with its first token, and revokes the user's least recently used families beyond the limit. */
  async createFamily(tx: Tx, family: NewFamily): Promise<string> {
    const { clock, limits, record, lastSeen } = this.#parts
    const { userId, address, userAgent } = family
    const { at, acr, amr } = family.authentication
    const now = clock.now()
    const expiresAt = now + Math.min(limits.lifetime, family.lifetime ?? limits.lifetime)
    const row = insertOf(tx, 'token_families', {
      id: family.familyId,
      user_id: userId,
      client_id: family.clientId,
      provider: family.provider,
      address,
      user_agent: storableUserAgent(userAgent ?? undefined),
      created_at: now,
      last_seen_at: now,
      authenticated_at: at,
      acr,
      amr,
      expires_at: expiresAt,
      revoked_at: null,
      session_id: family.sessionId,
      scope: family.scope,
      resource: family.resource,
    })
    const selection = { userId, now, limit: limits.perUser }
    // Together: on PostgreSQL they are sent at once.
    const [, { length: count }, token] = await Promise.all([
      tx.executeQuery(row),
      credentials.revokeBeyondLimit(tx, selection),
      this.#issue(tx, family.familyId, expiresAt),
    ])
    if (count > 0)
      await record(tx, {
        action: 'tokens.revoked',
        userId,
        address: address ?? undefined,
        userAgent: userAgent ?? undefined,
        detail: { reason: 'limit', count },
      })
    lastSeen.updateUser(userId, now)
    return token
  }

  /**
   * Exchanges a token of this app for its successor.
   * @param origin the caller, for the audit log.
   * @param accept throws to refuse the exchange; then the token stays unused
   */
  async rotate(
    token: string,
    clientId: string,
    origin: AuditOrigin = {},
    accept?: (family: Family) => void,
  ): Promise<{ family: Family; refreshToken: string } | InvalidGrant> {
    const { database, clock, record, lastSeen } = this.#parts
    const now = clock.now()
    const hash = hashToken(token)
    return database.transaction(async (tx) => {
      const familyId = await familyOf(tx, hash, now)
      if (familyId === undefined) return { invalidGrant: true, userId: undefined }
      // The update also locks the row: refreshes and revocations of one family run one after the other.
      const row = await tx
        .updateTable('token_families')
        .set({ last_seen_at: now })
        .where('id', '=', familyId)
        .where('client_id', '=', clientId)
        .where('revoked_at', 'is', null)
        .where('expires_at', '>', now)
        .returningAll()
        .executeTakeFirst()
      if (!row) return { invalidGrant: true, userId: await this.ownerOf(tx, familyId) }
      const { user_id: userId } = row
      if (!(await this.findLive(tx, familyId, userId))) return { invalidGrant: true, userId }
      const use = await useToken(tx, hash, now, origin)
      if (use === 'reused') {
        await this.revokeReused(tx, row, origin)
        return { invalidGrant: true, userId }
      }
      if (use === 'parallel, other address')
        await record(tx, { action: 'tokens.reused', userId, target: `app:${clientId}`, ...origin })
      const family = familyFrom(row)
      accept?.(family)
      lastSeen.updateUser(userId, now)
      return { family, refreshToken: await this.#issue(tx, familyId, row.expires_at, hash) }
    })
  }

  /** A token that was issued, also one that is used or revoked; `undefined` for an unknown one. */
  async describe(token: string): Promise<DescribedToken | undefined> {
    const { database, clock } = this.#parts
    const found = await findToken(database.reader, hashToken(token))
    if (!found) return undefined
    const { token_created_at: createdAt, token_expires_at: expiresAt, used_at: usedAt, ...row } = found
    const family = familyFrom(row)
    const isFresh = usedAt === null && expiresAt > clock.now()
    const active = isFresh && (await this.findLive(database.reader, row.id, row.user_id)) !== undefined
    return { family, active, createdAt, expiresAt }
  }

  /** Revokes a family after a code or token of it was reused. */
  async revokeReused(
    tx: Tx,
    { id, user_id: userId, client_id: clientId }: Pick<TokenFamiliesTable, 'id' | 'user_id' | 'client_id'>,
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
    let codes = tx
      .deleteFrom('authorization_codes')
      .where('user_id', '=', userId)
      .where('used_at', 'is', null)
    if (provider !== undefined) codes = codes.where('provider', '=', provider)
    if (clientId !== undefined) codes = codes.where('client_id', '=', clientId)
    await codes.execute()
    await deleteApprovedDevices(tx, userId, filter)
    return this.#revokeFamilies(tx, userId, filter)
  }

  async #revokeFamilies(tx: Tx, userId: string, filter: CredentialFilter): Promise<number> {
    const now = this.#parts.clock.now()
    const ids = await credentials.revoke(tx, { userId, now, filter })
    await recordLogouts(tx, ids, now)
    return ids.length
  }

  /** The user's live families, of one app when `clientId` is given, newest first, `limit` at most. */
  async list(
    userId: string,
    limit: number,
    { clientId }: Pick<CredentialFilter, 'clientId'> = {},
  ): Promise<ListedFamily[]> {
    const { database, clock, limits } = this.#parts
    const selection = { userId, now: clock.now(), idle: limits.idle, limit }
    const families = credentials.selectLive(database.reader, selection).select(['client_id', 'scope'])
    return (clientId === undefined ? families : families.where('client_id', '=', clientId)).execute()
  }

  /** A family with its user's role; `undefined` when it is revoked, expired or idle, or its user is blocked. */
  async findLive(db: Queryable, familyId: string, userId: string): Promise<LiveFamily | undefined> {
    const { clock, limits, admins } = this.#parts
    const now = clock.now()
    return db
      .selectFrom('token_families')
      .innerJoin('users', 'users.id', 'token_families.user_id')
      .select(['token_families.client_id as clientId', 'token_families.provider as provider'])
      .select(['token_families.acr as acr', 'token_families.amr as amr'])
      .select(roleExpression(admins, 'token_families').as('role'))
      .where('token_families.id', '=', familyId)
      .where('token_families.user_id', '=', userId)
      .where('token_families.revoked_at', 'is', null)
      .where('token_families.expires_at', '>', now)
      .where('token_families.last_seen_at', '>', now - limits.idle)
      .where('users.blocked_at', 'is', null)
      .executeTakeFirst()
  }

  /** The user of a family, which may have ended. */
  async ownerOf(db: Queryable, familyId: string): Promise<string | undefined> {
    const family = db.selectFrom('token_families').select('user_id').where('id', '=', familyId)
    return (await family.executeTakeFirst())?.user_id
  }

  /** Whether a family came from this browser session. It may have ended since. */
  async isOfSession(db: Queryable, familyId: string, sessionId: string): Promise<boolean> {
    const family = db.selectFrom('token_families').select('session_id').where('id', '=', familyId)
    return (await family.executeTakeFirst())?.session_id === sessionId
  }

  async sweep(now: number): Promise<void> {
    const { database, limits } = this.#parts
    await database.transaction(
      async (tx) => {
        // A used token stays until its successors of the grace have expired: it shows whether one of them was used.
        await tx
          .deleteFrom('refresh_tokens')
          .where('expires_at', '<=', now - 2 * reuseGrace)
          .execute()
        await credentials.deleteEnded(tx, { now, idle: limits.idle })
      },
      { priority: 'work' },
    )
  }

  async #issue(
    tx: Tx,
    familyId: string,
    familyExpiresAt: number,
    parent: Uint8Array | null = null,
  ): Promise<string> {
    const { clock, limits } = this.#parts
    const now = clock.now()
    const token = newToken('rt_')
    await tx.executeQuery(
      insertOf(tx, 'refresh_tokens', {
        token_hash: hashToken(token),
        family_id: familyId,
        parent_hash: parent,
        created_at: now,
        expires_at: Math.min(now + limits.idle, familyExpiresAt),
        used_at: null,
        used_from: null,
      }),
    )
    return token
  }
}

/** Devices that the user allowed to sign in and that have not got their tokens yet. */
async function deleteApprovedDevices(
  tx: Tx,
  userId: string,
  { provider, clientId }: CredentialFilter,
): Promise<void> {
  let rows = tx.deleteFrom('device_codes').where('user_id', '=', userId).where('status', '=', 'approved')
  if (provider !== undefined) rows = rows.where('provider', '=', provider)
  if (clientId !== undefined) rows = rows.where('client_id', '=', clientId)
  await rows.execute()
}

function familyFrom(row: TokenFamiliesTable): Family {
  const { id: familyId, user_id: userId, client_id: clientId, acr, amr, scope, resource } = row
  return { familyId, userId, clientId, authenticatedAt: row.authenticated_at, acr, amr, scope, resource }
}
