import type { AuditOrigin } from '../accounts/audit.ts'
import type { Family, InvalidGrant, RefreshTokens } from '../accounts/refresh-tokens.ts'
import type { Authentication } from '../accounts/authentication.ts'
import type { Users } from '../accounts/users.ts'
import { storableUserAgent } from '../accounts/user-agent.ts'
import type { Clock } from '../runtime/clock.ts'
import { equalBytes } from '../crypto/constant-time.ts'
import { codeChallenge } from '../crypto/pkce.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { AuthorizationCodesTable } from '../storage/tables.ts'
import type { AppRequest } from './apps.ts'

/** Milliseconds from the issue of a code to its exchange at most. */
const lifetime = 60_000
/** Milliseconds after which an expired code is deleted. Until then its second use is recognized. */
const retention = 24 * 3_600_000

/** The user of a code, and the browser of the sign-in. */
export interface SignedInUser {
  userId: string
  provider: string
  address: string
  userAgent: string | undefined
  authentication: Authentication
}

export interface AppCodeExchange {
  code: string
  clientId: string
  redirectUri: string
  verifier: string
  /** The caller, for the audit log. */
  origin: AuditOrigin
}

export interface AuthorizationCodesParts {
  database: Database
  clock: Clock
  refreshTokens: RefreshTokens
  users: Users
}

/** One-time codes that apps exchange for tokens (RFC 6749, section 4.1; RFC 7636). */
export class AuthorizationCodes {
  readonly #parts: AuthorizationCodesParts

  constructor(parts: AuthorizationCodesParts) {
    this.#parts = parts
  }

  async issue(tx: Tx, app: Omit<AppRequest, 'state'>, user: SignedInUser): Promise<string> {
    const code = newToken()
    await tx
      .insertInto('authorization_codes')
      .values({
        code_hash: hashToken(code),
        client_id: app.clientId,
        redirect_uri: app.redirectUri,
        challenge: app.challenge,
        user_id: user.userId,
        provider: user.provider,
        address: user.address,
        user_agent: storableUserAgent(user.userAgent),
        authenticated_at: user.authentication.at,
        acr: user.authentication.acr,
        amr: user.authentication.amr,
        expires_at: this.#parts.clock.now() + lifetime,
        used_at: null,
        family_id: null,
      })
      .execute()
    return code
  }

  /**
   * Exchanges a code for a refresh token of a new family. The first exchange uses the code, even when it fails. A second
   * one shows that two callers have the code, so the family of the first one is revoked (RFC 6749, section 4.1.2).
   */
  async exchange(request: AppCodeExchange): Promise<{ family: Family; refreshToken: string } | InvalidGrant> {
    const { database, clock, refreshTokens, users } = this.#parts
    const now = clock.now()
    const hash = hashToken(request.code)
    const familyId = refreshTokens.newFamilyId()
    return database.transaction(async (tx) => {
      const row = await tx
        .updateTable('authorization_codes')
        .set({ used_at: now, family_id: familyId })
        .where('code_hash', '=', hash)
        .where('used_at', 'is', null)
        .returningAll()
        .executeTakeFirst()
      if (!row) return { invalidGrant: true, userId: await this.#revokeFamilyOf(tx, hash, request.origin) }
      const { user_id: userId, client_id: clientId, provider, address, user_agent: userAgent, acr, amr } = row
      if (!isValid(row, request, now) || (await users.isBlocked(tx, userId)))
        return { invalidGrant: true, userId }
      const authentication = { at: row.authenticated_at, acr, amr }
      const family = { familyId, userId, clientId, provider, address, userAgent, authentication }
      const refreshToken = await refreshTokens.createFamily(tx, family)
      return { family: { familyId, userId, clientId, authenticatedAt: authentication.at }, refreshToken }
    })
  }

  async sweep(now: number): Promise<void> {
    await this.#parts.database.transaction(
      (tx) =>
        tx
          .deleteFrom('authorization_codes')
          .where('expires_at', '<=', now - retention)
          .execute(),
      { priority: 'work' },
    )
  }

  /** Revokes the family of a used code. Gives the user; `undefined` when the code is unknown. */
  async #revokeFamilyOf(tx: Tx, hash: Uint8Array, origin: AuditOrigin): Promise<string | undefined> {
    const used = await tx
      .selectFrom('authorization_codes')
      .select(['family_id', 'user_id', 'client_id'])
      .where('code_hash', '=', hash)
      .executeTakeFirst()
    if (used?.family_id)
      await this.#parts.refreshTokens.revokeReused(tx, { ...used, id: used.family_id }, origin)
    return used?.user_id
  }
}

function isValid(
  row: AuthorizationCodesTable,
  { clientId, redirectUri, verifier }: AppCodeExchange,
  now: number,
): boolean {
  const verifierMatches = equalBytes(Buffer.from(codeChallenge(verifier)), Buffer.from(row.challenge))
  const sameRequest = row.client_id === clientId && row.redirect_uri === redirectUri
  return row.expires_at > now && sameRequest && verifierMatches
}
