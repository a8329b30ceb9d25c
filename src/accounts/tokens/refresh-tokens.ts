import type { AccountWiring } from '../services.ts'
import { newId } from '../../crypto/ids.ts'
import { hashToken, newToken } from '../../crypto/secrets.ts'
import { insertOf } from '../../storage/built-once.ts'
import type { Row } from '../../storage/tables.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import type { AuditOrigin } from '../audit/audit.ts'
import { recordLogouts } from '../sessions/apps-of-sessions.ts'
import { familyCredentials, familyFrom, type Family, reuseGrace } from './token-families.ts'
import { newCredential, type NewCredential } from './credential-store.ts'

/** Repeated uses of one token within the grace at most: tabs that a browser opens at its start. */
const mostReplays = 20

interface NewFamily extends Omit<NewCredential, 'userAgent'> {
  familyId: string
  clientId: string
  /** The browser's session that the app signed in with. */
  sessionId: string | null
  scope: string | null
  resource: string | null
  /** As in token_families. */
  claims?: string | null
  /** Milliseconds from now to its end at most. Default: SESSION_LIFETIME. */
  lifetime?: number | undefined
  /** Of the browser in which the user signed in. */
  userAgent: string | null
}

/** A refresh token and the sign-in that it belongs to. */
export type DescribedToken = NonNullable<Awaited<ReturnType<RefreshTokens['describe']>>>

/** A code or refresh token that is unknown, used, expired or revoked (`invalid_grant` of RFC 6749). */
export interface InvalidGrant {
  invalidGrant: true
  /** The user of the grant, if known. */
  userId: string | undefined
  /** The admin who acted for the user, for the audit log: users do not see where admins are. */
  actor?: string | undefined
}

/**
 * Rotating refresh tokens: each use issues a successor. A later reuse shows that the token was copied, and the service cannot
 * know which caller is the thief, so the whole family is revoked (RFC 9700, section 4.14.2). Parallel tabs that use a
 * token within the grace get one successor each, and only one of the successors can be used. So a copy that is used
 * within the grace is detected at the next refresh.
 */
export class RefreshTokens {
  readonly #parts: AccountWiring

  constructor(parts: AccountWiring) {
    this.#parts = parts
  }

  newFamilyId(): string {
    return newId(this.#parts.clock.now())
  }

  /** Creates a family with its first token, and revokes the user's least recently used families beyond the limit. */
  async createFamily(tx: Tx, family: NewFamily): Promise<{ family: Family; refreshToken: string }> {
    const { clock, limits, record, lastSeen } = this.#parts
    const { userId, impersonation } = family
    const { address, userAgent } = impersonation ? nowhere : family
    const now = clock.now()
    const longest = now + Math.min(limits.lifetime, family.lifetime ?? limits.lifetime)
    const expiresAt = Math.min(longest, impersonation?.endsAt ?? longest)
    const row = {
      id: family.familyId,
      client_id: family.clientId,
      ...newCredential({ ...family, address, userAgent: userAgent ?? undefined }, now, expiresAt),
      session_id: family.sessionId,
      scope: family.scope,
      resource: family.resource,
      claims: family.claims ?? null,
    }
    const selection = { userId, now, limit: limits.perUser }
    // Together: on PostgreSQL they are sent at once.
    const [, ended, refreshToken] = await Promise.all([
      tx.executeQuery(insertOf(tx, 'token_families', row)),
      familyCredentials.revokeBeyondLimit(tx, selection, impersonation !== undefined),
      this.#issue(tx, family.familyId, expiresAt),
    ])
    if (ended.length > 0) {
      await recordLogouts(tx, ended, now)
      await record(tx, {
        action: 'tokens.revoked',
        userId,
        address: address ?? undefined,
        userAgent: userAgent ?? undefined,
        detail: { reason: 'limit', count: ended.length },
      })
    }
    if (!impersonation) lastSeen.updateUser(userId, now)
    return { family: familyFrom(row), refreshToken }
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
    const { database, clock, limits, tokenFamilies: families, record, lastSeen } = this.#parts
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
        .where('last_seen_at', '>', now - limits.idle)
        .returningAll()
        .executeTakeFirst()
      if (!row) return invalidGrantOf(tx, familyId)
      const { user_id: userId } = row
      if (!(await families.findLive(tx, familyId, userId))) return invalidGrantOf(tx, familyId)
      const use = await useToken(tx, hash, now, origin)
      const caller = { ...origin, actor: actorOf(row) ?? origin.actor }
      if (use === 'reused') {
        await families.revokeReused(tx, row, caller)
        return invalidGrantOf(tx, familyId)
      }
      if (use === 'parallel, other address')
        await record(tx, { action: 'tokens.reused', userId, target: `app:${clientId}`, ...caller })
      const family = familyFrom(row)
      accept?.(family)
      if (family.impersonatorId === null) lastSeen.updateUser(userId, now)
      return { family, refreshToken: await this.#issue(tx, familyId, row.expires_at, hash) }
    })
  }

  /** A token that was issued, also one that is used or revoked; `undefined` for an unknown one. */
  async describe(token: string) {
    const { database, clock, tokenFamilies: families } = this.#parts
    const hash = hashToken(token)
    const found = await findToken(database.reader, hash)
    if (!found) return undefined
    const { token_created_at: createdAt, token_expires_at: expiresAt, used_at: usedAt, ...row } = found
    const family = familyFrom(row)
    const isFresh =
      usedAt === null && expiresAt > clock.now() && !(await isRelativeUsed(database.reader, hash, found))
    const active = isFresh && (await families.findLive(database.reader, row.id, row.user_id)) !== undefined
    // `active`: an exchange would accept it now, as its first use.
    return { family, active, createdAt, expiresAt }
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

/** Users do not see where admins are. */
const nowhere = { address: null, userAgent: null }

/** The admin who acts for the user of a family. */
function actorOf({ impersonator_id: adminId }: Pick<Row<'token_families'>, 'impersonator_id'>) {
  return adminId === null ? undefined : `user:${adminId}`
}

async function invalidGrantOf(tx: Tx, familyId: string): Promise<InvalidGrant> {
  const query = tx.selectFrom('token_families').select(['user_id', 'impersonator_id'])
  const family = await query.where('id', '=', familyId).executeTakeFirst()
  return { invalidGrant: true, userId: family?.user_id, actor: family && actorOf(family) }
}

/** The family of an unexpired token. */
async function familyOf(tx: Tx, hash: Uint8Array, now: number): Promise<string | undefined> {
  const row = await tx
    .selectFrom('refresh_tokens')
    .select('family_id')
    .where('token_hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row?.family_id
}

/** A token, expired or not, with its family. */
async function findToken(db: Queryable, hash: Uint8Array) {
  return db
    .selectFrom('refresh_tokens')
    .innerJoin('token_families', 'token_families.id', 'refresh_tokens.family_id')
    .selectAll('token_families')
    .select([
      'refresh_tokens.created_at as token_created_at',
      'refresh_tokens.expires_at as token_expires_at',
    ])
    .select(['refresh_tokens.used_at as used_at', 'refresh_tokens.parent_hash as parent_hash'])
    .where('token_hash', '=', hash)
    .executeTakeFirst()
}

/**
 * Records the use of a token whose family is locked. `reused`: its grace is over, or another token of the same parent, or
 * one of its own successors, was used. Then two callers have the same token.
 */
async function useToken(
  tx: Tx,
  hash: Uint8Array,
  now: number,
  { address = null }: { address?: string | null | undefined },
): Promise<'first' | 'parallel' | 'parallel, other address' | 'reused'> {
  const token = await tx
    .selectFrom('refresh_tokens')
    .select(['parent_hash', 'used_at', 'used_from', 'replays'])
    .where('token_hash', '=', hash)
    .executeTakeFirstOrThrow()
  if (await isRelativeUsed(tx, hash, token)) return 'reused'
  const row = tx.updateTable('refresh_tokens').where('token_hash', '=', hash)
  if (token.used_at === null) {
    await row.set({ used_at: now, used_from: address }).execute()
    return 'first'
  }
  if (token.used_at <= now - reuseGrace || token.replays >= mostReplays) return 'reused'
  await row.set({ replays: token.replays + 1 }).execute()
  return token.used_from === address ? 'parallel' : 'parallel, other address'
}

/** Whether a successor of this token was used, or another successor of its parent. */
async function isRelativeUsed(
  db: Queryable,
  hash: Uint8Array,
  { parent_hash: parent }: { parent_hash: Uint8Array | null },
): Promise<boolean> {
  const used = await db
    .selectFrom('refresh_tokens')
    .select('token_hash')
    .where('used_at', 'is not', null)
    .where('token_hash', '<>', hash)
    .where('parent_hash', 'in', parent === null ? [hash] : [hash, parent])
    .limit(1)
    .executeTakeFirst()
  return used !== undefined
}
