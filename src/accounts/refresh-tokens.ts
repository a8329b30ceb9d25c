import type { Clock } from '../runtime/clock.ts'
import { newId } from '../crypto/ids.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import type { Database, Queryable, Tx } from '../storage/database.ts'
import type { Role, TokenFamiliesTable } from '../storage/tables.ts'
import type { AuditOrigin, RecordAudit } from './audit.ts'
import { roleExpression, type IdentityKey } from './roles.ts'
import type { Authentication } from './authentication.ts'
import { endedAtOnce, keptUserAgent, type NewSession, type SessionLimits } from './sessions.ts'

/** Milliseconds in which a token that was just used may be used again: parallel tabs refresh at the same moment. */
const reuseGrace = 10_000
/** How often it may: as many tabs as open at once when a browser starts. */
const mostReplays = 20

/** One sign-in of one app: all refresh tokens that came from it, and what its access tokens name as `sid`. */
export interface Family {
  familyId: string
  userId: string
  clientId: string
  authenticatedAt: number
}

export interface NewFamily extends Omit<NewSession, 'address' | 'userAgent' | 'authentication'> {
  familyId: string
  clientId: string
  authentication: Omit<Authentication, 'proof'>
  /** Of the browser in which the user signed in. */
  address: string | null
  userAgent: string | null
}

/** Which of a user's families a call is about; all of them when nothing is given. */
export interface FamilyChoice {
  /** Without this one. */
  exceptId?: string | undefined
  /** That began by this provider. */
  provider?: string | undefined
  /** Of this app. */
  clientId?: string | undefined
}

/** What counts of a family that is neither over nor revoked. */
export interface LiveFamily extends Pick<Authentication, 'acr' | 'amr'> {
  clientId: string
  provider: string
  role: Role
}

/** A code or refresh token that is not (or no longer) good. */
export interface Refused {
  refused: true
  /** Whose it was, when that is known. */
  userId: string | undefined
}

/**
 * Refresh tokens rotate: each is used once and gives the next. One that comes back later was copied by somebody, and
 * nobody can tell who is the thief, so its whole family ends (RFC 9700, section 4.14.2). Tabs that refresh at the same
 * moment get a successor each; of these one can go on. So a copy that was used within the grace shows as well, at the
 * next refresh of whoever comes second.
 */
export class RefreshTokens {
  readonly #database: Database
  readonly #clock: Clock
  readonly #limits: SessionLimits
  readonly #admins: readonly IdentityKey[]
  readonly #record: RecordAudit

  constructor(parts: {
    database: Database
    clock: Clock
    limits: SessionLimits
    admins: readonly IdentityKey[]
    record: RecordAudit
  }) {
    this.#database = parts.database
    this.#clock = parts.clock
    this.#limits = parts.limits
    this.#admins = parts.admins
    this.#record = parts.record
  }

  newFamilyId(): string {
    return newId(this.#clock.now())
  }

  /** Begins a family, and gives its first token. What the user then has beyond the bound ends. */
  async begin(tx: Tx, family: NewFamily): Promise<string> {
    const now = this.#clock.now()
    const { at, acr, amr } = family.authentication
    const expiresAt = now + this.#limits.lifetime
    await tx
      .insertInto('token_families')
      .values({
        id: family.familyId,
        user_id: family.userId,
        client_id: family.clientId,
        provider: family.provider,
        address: family.address,
        user_agent: keptUserAgent(family.userAgent ?? undefined),
        created_at: now,
        last_seen_at: now,
        authenticated_at: at,
        acr,
        amr,
        expires_at: expiresAt,
        revoked_at: null,
      })
      .execute()
    await this.#endBeyondBound(tx, family, now)
    return this.#issue(tx, family.familyId, expiresAt)
  }

  /**
   * Exchanges a token for the next one, when it is good for this app.
   * @param origin who asks, for the audit log when this is a reuse.
   */
  async rotate(
    token: string,
    clientId: string,
    origin: AuditOrigin = {},
  ): Promise<{ family: Family; token: string } | Refused> {
    const now = this.#clock.now()
    const hash = hashToken(token)
    return this.#database.transaction(async (tx) => {
      const familyId = await this.#familyOf(tx, hash, now)
      if (familyId === undefined) return { refused: true, userId: undefined }
      // This change is a lock as well: refreshes and revocations of one family go one after the other.
      const row = await tx
        .updateTable('token_families')
        .set({ last_seen_at: now })
        .where('id', '=', familyId)
        .where('client_id', '=', clientId)
        .where('revoked_at', 'is', null)
        .where('expires_at', '>', now)
        .returningAll()
        .executeTakeFirst()
      if (!row || !(await this.live(tx, familyId, row.user_id)))
        return { refused: true, userId: row?.user_id ?? (await ownerOf(tx, familyId)) }
      const spent = await this.#spend(tx, hash, now, origin)
      if (spent === 'refused') {
        await this.endReused(tx, row, origin)
        return { refused: true, userId: row.user_id }
      }
      if (spent === 'again elsewhere') {
        const target = `app:${clientId}`
        await this.#record(tx, { action: 'tokens.reused', userId: row.user_id, target, ...origin })
      }
      const family = { familyId, userId: row.user_id, clientId, authenticatedAt: row.authenticated_at }
      return { family, token: await this.#issue(tx, familyId, row.expires_at, hash) }
    })
  }

  /** Ends a family, a code or token of which came twice. */
  async endReused(
    tx: Tx,
    family: { id: string; user_id: string; client_id: string },
    origin: AuditOrigin,
  ): Promise<void> {
    const { numUpdatedRows } = await tx
      .updateTable('token_families')
      .set({ revoked_at: this.#clock.now() })
      .where('id', '=', family.id)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return
    await this.#record(tx, {
      action: 'tokens.revoked',
      userId: family.user_id,
      target: `app:${family.client_id}`,
      detail: { reason: 'reuse' },
      ...origin,
    })
  }

  /**
   * Ends one of the user's families, of one app when `clientId` is given; `record` as for sessions. False when the user
   * has no such live family.
   */
  async revoke(
    userId: string,
    familyId: string,
    record?: (tx: Tx) => Promise<void>,
    { clientId }: Pick<FamilyChoice, 'clientId'> = {},
  ): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      let family = tx
        .updateTable('token_families')
        .set({ revoked_at: this.#clock.now() })
        .where('id', '=', familyId)
        .where('user_id', '=', userId)
        .where('revoked_at', 'is', null)
      if (clientId !== undefined) family = family.where('client_id', '=', clientId)
      const result = await family.executeTakeFirst()
      if (result.numUpdatedRows === 0n) return false
      await record?.(tx)
      return true
    })
  }

  /**
   * Ends a user's families, and codes that were not exchanged yet; gives how many families.
   */
  async revokeAll(
    tx: Tx,
    userId: string,
    { exceptId, provider, clientId }: FamilyChoice = {},
  ): Promise<number> {
    let codes = tx
      .deleteFrom('authorization_codes')
      .where('user_id', '=', userId)
      .where('used_at', 'is', null)
    if (provider !== undefined) codes = codes.where('provider', '=', provider)
    if (clientId !== undefined) codes = codes.where('client_id', '=', clientId)
    await codes.execute()
    let families = tx
      .updateTable('token_families')
      .set({ revoked_at: this.#clock.now() })
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
    if (exceptId !== undefined) families = families.where('id', '<>', exceptId)
    if (provider !== undefined) families = families.where('provider', '=', provider)
    if (clientId !== undefined) families = families.where('client_id', '=', clientId)
    const { numUpdatedRows } = await families.executeTakeFirst()
    return Number(numUpdatedRows)
  }

  /** The user's live families, of one app when `clientId` is given, the newest first, `limit` at most. */
  async list(
    userId: string,
    limit: number,
    { clientId }: Pick<FamilyChoice, 'clientId'> = {},
  ): Promise<TokenFamiliesTable[]> {
    const now = this.#clock.now()
    const families = this.#database.reader
      .selectFrom('token_families')
      .selectAll()
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', now)
      .where('last_seen_at', '>', now - this.#limits.idle)
      .orderBy('id', 'desc')
      .limit(limit)
    return (clientId === undefined ? families : families.where('client_id', '=', clientId)).execute()
  }

  async #endBeyondBound(tx: Tx, { userId, address, userAgent }: NewFamily, now: number): Promise<void> {
    const { numUpdatedRows } = await tx
      .updateTable('token_families')
      .set({ revoked_at: now })
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('token_families')
          .select('id')
          .where('user_id', '=', userId)
          .where('revoked_at', 'is', null)
          .where('expires_at', '>', now)
          .orderBy('last_seen_at', 'desc')
          .orderBy('id', 'desc')
          .limit(endedAtOnce)
          .offset(this.#limits.perUser),
      )
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return
    await this.#record(tx, {
      action: 'tokens.revoked',
      userId,
      address: address ?? undefined,
      userAgent: userAgent ?? undefined,
      detail: { reason: 'limit', count: Number(numUpdatedRows) },
    })
  }

  /**
   * The app of a family and the role of the user behind it; `undefined` when the family was revoked, is over or was not
   * refreshed for the idle time, or the user is blocked.
   */
  async live(db: Queryable, familyId: string, userId: string): Promise<LiveFamily | undefined> {
    const now = this.#clock.now()
    return db
      .selectFrom('token_families')
      .innerJoin('users', 'users.id', 'token_families.user_id')
      .select(['token_families.client_id as clientId', 'token_families.provider as provider'])
      .select(['token_families.acr as acr', 'token_families.amr as amr'])
      .select(roleExpression(this.#admins).as('role'))
      .where('token_families.id', '=', familyId)
      .where('token_families.user_id', '=', userId)
      .where('token_families.revoked_at', 'is', null)
      .where('token_families.expires_at', '>', now)
      .where('token_families.last_seen_at', '>', now - this.#limits.idle)
      .where('users.blocked_at', 'is', null)
      .executeTakeFirst()
  }

  async sweep(now: number): Promise<void> {
    await this.#database.transaction(
      async (tx) => {
        // A used token is kept until those that it gave in the grace are over: it tells whether one of them went on.
        await tx
          .deleteFrom('refresh_tokens')
          .where('expires_at', '<=', now - 2 * reuseGrace)
          .execute()
        await tx
          .deleteFrom('token_families')
          .where((eb) =>
            eb.or([
              eb('expires_at', '<=', now),
              eb('last_seen_at', '<=', now - this.#limits.idle),
              eb('revoked_at', 'is not', null),
            ]),
          )
          .execute()
      },
      { lane: 'work' },
    )
  }

  async #issue(
    tx: Tx,
    familyId: string,
    familyEnd: number,
    parent: Uint8Array | null = null,
  ): Promise<string> {
    const now = this.#clock.now()
    const token = newToken('rt_')
    await tx
      .insertInto('refresh_tokens')
      .values({
        token_hash: hashToken(token),
        family_id: familyId,
        parent_hash: parent,
        created_at: now,
        expires_at: Math.min(now + this.#limits.idle, familyEnd),
        used_at: null,
        used_from: null,
      })
      .execute()
    return token
  }

  async #familyOf(tx: Tx, hash: Uint8Array, now: number): Promise<string | undefined> {
    const row = await tx
      .selectFrom('refresh_tokens')
      .select('family_id')
      .where('token_hash', '=', hash)
      .where('expires_at', '>', now)
      .executeTakeFirst()
    return row?.family_id
  }

  /**
   * Uses a token. It is refused when it was used before and not just now, when one that it gave went on already, or when
   * another one that its own parent gave did: then two have the same token. The family's row is locked.
   */
  async #spend(
    tx: Tx,
    hash: Uint8Array,
    now: number,
    { address }: AuditOrigin,
  ): Promise<'first' | 'again' | 'again elsewhere' | 'refused'> {
    const token = await tx
      .selectFrom('refresh_tokens')
      .select(['parent_hash', 'used_at', 'used_from', 'replays'])
      .where('token_hash', '=', hash)
      .executeTakeFirstOrThrow()
    if (await wentOnOtherwise(tx, hash, token)) return 'refused'
    if (token.used_at === null) {
      await tx
        .updateTable('refresh_tokens')
        .set({ used_at: now, used_from: address ?? null })
        .where('token_hash', '=', hash)
        .execute()
      return 'first'
    }
    if (token.used_at <= now - reuseGrace || token.replays >= mostReplays) return 'refused'
    await tx
      .updateTable('refresh_tokens')
      .set({ replays: token.replays + 1 })
      .where('token_hash', '=', hash)
      .execute()
    return token.used_from === (address ?? null) ? 'again' : 'again elsewhere'
  }
}

/** Whether a child of this token was used, or a sibling. */
async function wentOnOtherwise(
  tx: Tx,
  hash: Uint8Array,
  { parent_hash: parent }: { parent_hash: Uint8Array | null },
): Promise<boolean> {
  const used = await tx
    .selectFrom('refresh_tokens')
    .select('token_hash')
    .where('used_at', 'is not', null)
    .where('token_hash', '<>', hash)
    .where('parent_hash', 'in', parent === null ? [hash] : [hash, parent])
    .limit(1)
    .executeTakeFirst()
  return used !== undefined
}

async function ownerOf(tx: Tx, familyId: string): Promise<string | undefined> {
  const row = await tx
    .selectFrom('token_families')
    .select('user_id')
    .where('id', '=', familyId)
    .executeTakeFirst()
  return row?.user_id
}
