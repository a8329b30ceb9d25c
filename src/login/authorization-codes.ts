import { createHash } from 'node:crypto'
import type { AuditOrigin } from '../accounts/audit.ts'
import type { Family, Refused, RefreshTokens } from '../accounts/refresh-tokens.ts'
import type { Authentication } from '../accounts/authentication.ts'
import { keptUserAgent } from '../accounts/sessions.ts'
import type { Clock } from '../runtime/clock.ts'
import { equalBytes, hashToken, newToken } from '../crypto/tokens.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { AppRequest } from './clients.ts'

/** Milliseconds that an app has for the exchange. */
const lifetime = 60_000
/** Milliseconds after which a code is forgotten; until then its second use is recognised. */
const remembered = 24 * 3_600_000

/** Who signed in, and where. */
export interface CodeOwner {
  userId: string
  provider: string
  address: string
  userAgent: string | undefined
  authentication: Authentication
}

export interface Exchange {
  code: string
  clientId: string
  redirectUri: string
  verifier: string
  /** Who asks, for the audit log. */
  origin: AuditOrigin
}

/** The one-time codes that apps exchange for tokens (RFC 6749, section 4.1; RFC 7636). */
export class AuthorizationCodes {
  readonly #database: Database
  readonly #clock: Clock
  readonly #refreshTokens: RefreshTokens

  constructor(parts: { database: Database; clock: Clock; refreshTokens: RefreshTokens }) {
    this.#database = parts.database
    this.#clock = parts.clock
    this.#refreshTokens = parts.refreshTokens
  }

  async issue(tx: Tx, app: Omit<AppRequest, 'state'>, user: CodeOwner): Promise<string> {
    const now = this.#clock.now()
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
        user_agent: keptUserAgent(user.userAgent),
        authenticated_at: user.authentication.at,
        acr: user.authentication.acr,
        amr: user.authentication.amr,
        expires_at: now + lifetime,
        used_at: null,
        family_id: null,
      })
      .execute()
    return code
  }

  /**
   * Exchanges a code. Whoever comes first spends it, rightly or not; a second use means
   * that two have it, so what the first one got is revoked (RFC 6749, section 4.1.2).
   */
  async exchange({
    code,
    clientId,
    redirectUri,
    verifier,
    origin,
  }: Exchange): Promise<{ family: Family; refreshToken: string } | Refused> {
    const now = this.#clock.now()
    const hash = hashToken(code)
    const familyId = this.#refreshTokens.newFamilyId()
    return this.#database.transaction(async (tx) => {
      const row = await tx
        .updateTable('authorization_codes')
        .set({ used_at: now, family_id: familyId })
        .where('code_hash', '=', hash)
        .where('used_at', 'is', null)
        .returningAll()
        .executeTakeFirst()
      if (!row) {
        return { refused: true, userId: await this.#endWhatItGave(tx, hash, origin) }
      }
      const rightVerifier = equalBytes(Buffer.from(challengeOf(verifier)), Buffer.from(row.challenge))
      const right =
        row.expires_at > now &&
        row.client_id === clientId &&
        row.redirect_uri === redirectUri &&
        rightVerifier
      if (!right || (await this.#isBlocked(tx, row.user_id))) return { refused: true, userId: row.user_id }
      const { user_id: userId, provider, address, user_agent: userAgent, acr, amr } = row
      const authentication = { at: row.authenticated_at, acr, amr }
      const refreshToken = await this.#refreshTokens.begin(tx, {
        familyId,
        userId,
        clientId,
        provider,
        address,
        userAgent,
        authentication,
      })
      return { family: { familyId, userId, clientId, authenticatedAt: authentication.at }, refreshToken }
    })
  }

  async sweep(now: number): Promise<void> {
    await this.#database.transaction(
      (tx) =>
        tx
          .deleteFrom('authorization_codes')
          .where('expires_at', '<=', now - remembered)
          .execute(),
      { lane: 'work' },
    )
  }

  /** Gives whose code it was, when there was one. */
  async #endWhatItGave(tx: Tx, hash: Uint8Array, origin: AuditOrigin): Promise<string | undefined> {
    const used = await tx
      .selectFrom('authorization_codes')
      .select(['family_id', 'user_id', 'client_id'])
      .where('code_hash', '=', hash)
      .executeTakeFirst()
    if (used?.family_id) await this.#refreshTokens.endReused(tx, { ...used, id: used.family_id }, origin)
    return used?.user_id
  }

  async #isBlocked(tx: Tx, userId: string): Promise<boolean> {
    const user = await tx.selectFrom('users').select('blocked_at').where('id', '=', userId).executeTakeFirst()
    return !user || user.blocked_at !== null
  }
}

/** RFC 7636, section 4.6. */
export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}
