import type { CompiledQuery } from 'kysely'
import { type AuditOrigin, storableUserAgent } from '../../accounts/audit/audit.ts'
import type { InvalidGrant } from '../../accounts/tokens/refresh-tokens.ts'
import type { Family } from '../../accounts/tokens/token-families.ts'
import { lockSessionOfCode } from '../../accounts/sessions/apps-of-sessions.ts'
import { codeChallenge, equalBytes, hashToken, newToken } from '../../crypto/secrets.ts'
import { buildOnce, insertOf } from '../../storage/built-once.ts'
import type { Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import { type Client, refreshLifetime } from '../clients/client.ts'
import type { OAuth2Basis } from '../services.ts'
import type { SignedInUser } from '../../accounts/sessions/authentication.ts'

/** Milliseconds from the issue of a code to its exchange at most. */
const lifetime = 60_000

/** What a code is issued for. */
type CodeGrant = Pick<
  Row<'authorization_codes'>,
  'client_id' | 'redirect_uri' | 'challenge' | 'session_id' | 'scope' | 'resource' | 'nonce' | 'claims'
>

interface AppCodeExchange {
  code: string
  client: Client
  redirectUri: string
  verifier: string | undefined
  /** The caller, for the audit log. */
  origin: AuditOrigin
}

interface CodeUse {
  hash: Uint8Array
  now: number
  familyId: string
  clientId: string
}

/** Uses an unused code of this client, and returns whether its user is blocked. No client can use up another one's code. */
const useStatement = buildOnce((db, { hash, now, familyId, clientId }: CodeUse) =>
  db
    .updateTable('authorization_codes')
    .set({ used_at: now, family_id: familyId })
    .where('code_hash', '=', hash)
    .where('client_id', '=', clientId)
    .where('used_at', 'is', null)
    .returning(['client_id as clientId', 'redirect_uri as redirectUri', 'challenge', 'scope', 'resource'])
    .returning(['nonce', 'claims', 'user_id as userId', 'session_id as sessionId', 'provider', 'address'])
    .returning(['user_agent as userAgent', 'expires_at as expiresAt', 'acr', 'amr'])
    .returning(['authenticated_at as authenticatedAt', 'authentication_proof as proof'])
    .returning((eb) =>
      eb
        .selectFrom('users')
        .select('blocked_at')
        .whereRef('users.id', '=', 'authorization_codes.user_id')
        .as('userBlockedAt'),
    ),
)

/** The tokens of a code, and the nonce of its request. */
interface ExchangedCode {
  family: Family
  refreshToken: string
  nonce: string | null
}

/** One-time codes that apps exchange for tokens (RFC 6749, section 4.1; RFC 7636). */
export class AuthorizationCodes {
  readonly #parts: OAuth2Basis

  constructor(parts: OAuth2Basis) {
    this.#parts = parts
  }

  /** A new code, and the statement that stores it. */
  issue(grant: CodeGrant, user: SignedInUser, code = newToken()): { code: string; statement: CompiledQuery } {
    const statement = insertOf(this.#parts.database.reader, 'authorization_codes', {
      code_hash: hashToken(code),
      ...grant,
      user_id: user.userId,
      provider: user.provider,
      address: user.address,
      user_agent: storableUserAgent(user.userAgent),
      authenticated_at: user.authentication.at,
      authentication_proof: user.authentication.proof,
      acr: user.authentication.acr,
      amr: user.authentication.amr,
      expires_at: this.#parts.clock.now() + lifetime,
      used_at: null,
      family_id: null,
    })
    return { code, statement }
  }

  /**
   * Exchanges a code for a refresh token of a new family. The first exchange uses the code, even when it fails. A second
   * one shows that two callers have the code, so the family of the first one is revoked (RFC 6749, section 4.1.2).
   * @param accept throws to refuse the exchange; then the code stays unused
   */
  async exchange(
    request: AppCodeExchange,
    accept?: (family: Family) => void,
  ): Promise<ExchangedCode | InvalidGrant> {
    const { database, clock, refreshTokens, sessions } = this.#parts
    const now = clock.now()
    const hash = hashToken(request.code)
    const familyId = refreshTokens.newFamilyId()
    return database.transaction(async (tx) => {
      // The end of a session locks the session before the code, too.
      const [session, used] = await Promise.all([
        lockSessionOfCode(tx, hash),
        tx.executeQuery(useStatement(tx, { hash, now, familyId, clientId: request.client.id })),
      ])
      const [row] = used.rows
      if (!row) return this.#refuseUsed(tx, hash, request)
      const { userId, authenticatedAt: at, proof, acr, amr } = row
      const impersonation = impersonationOf(session)
      const refused = {
        invalidGrant: true,
        userId,
        actor: impersonation && `user:${impersonation.adminId}`,
      } as const
      const isOver = row.sessionId !== null && !session
      if (isOver || row.userBlockedAt !== null || !isValid(row, request, now)) return refused
      if (impersonation && !(await sessions.isLiveById(tx, session!.id))) return refused
      const created = await refreshTokens.createFamily(tx, {
        ...row,
        familyId,
        authentication: { at, proof: proof ?? 'asserted', acr, amr },
        lifetime: refreshLifetime(request.client),
        impersonation,
      })
      accept?.(created.family)
      return { ...created, nonce: row.nonce }
    })
  }

  /** Whether a code can still be exchanged. */
  async isOpen(code: string): Promise<boolean> {
    const { database, clock } = this.#parts
    const row = await database.reader
      .selectFrom('authorization_codes')
      .select('client_id')
      .where('code_hash', '=', hashToken(code))
      .where('used_at', 'is', null)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    return row !== undefined
  }

  /** Revokes the family of a used code, if its own client repeats it. */
  async #refuseUsed(tx: Tx, hash: Uint8Array, { client, origin }: AppCodeExchange): Promise<InvalidGrant> {
    const used = await tx
      .selectFrom('authorization_codes')
      .leftJoin('token_families', 'token_families.id', 'family_id')
      .select([
        'family_id',
        'authorization_codes.user_id',
        'authorization_codes.client_id',
        'impersonator_id',
      ])
      .where('code_hash', '=', hash)
      .executeTakeFirst()
    if (!used) return { invalidGrant: true, userId: undefined }
    const { family_id: id, user_id: userId, client_id: clientId, impersonator_id: adminId } = used
    const actor = adminId === null ? undefined : `user:${adminId}`
    if (id !== null && clientId === client.id)
      await this.#parts.tokenFamilies.revokeReused(
        tx,
        { id, user_id: userId, client_id: clientId },
        { ...origin, actor: actor ?? origin.actor },
      )
    return { invalidGrant: true, userId, actor }
  }
}

/** Tokens that are issued while an admin acts for a user name the admin, and end with the session. */
function impersonationOf(session: Awaited<ReturnType<typeof lockSessionOfCode>>) {
  const adminId = session?.impersonator_id
  if (!session || typeof adminId !== 'string') return undefined
  return { adminId, reason: session.impersonation_reason ?? '', endsAt: session.expires_at }
}

function isValid(
  row: { redirectUri: string; challenge: string | null; expiresAt: number },
  { redirectUri, verifier }: AppCodeExchange,
  now: number,
): boolean {
  const verifierMatches = matchesChallenge(row.challenge, verifier)
  return row.expiresAt > now && row.redirectUri === redirectUri && verifierMatches
}

/**
 * A verifier without a challenge is refused: somebody removed the challenge from the authorization request (RFC 9700,
 * section 2.1.1, "PKCE downgrade").
 */
function matchesChallenge(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null || verifier === undefined) return challenge === null && verifier === undefined
  return equalBytes(Buffer.from(codeChallenge(verifier)), Buffer.from(challenge))
}
