import type { AuditOrigin, RecordAudit } from '../accounts/audit/audit.ts'
import type { BoundBrowser } from '../accounts/sessions/browser-binding.ts'
import type { SessionToken } from '../accounts/sessions/sessions.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import { deleteExpired } from '../storage/delete-expired.ts'
import type { AccountServices } from '../accounts/services.ts'
import type { ModuleParts } from '../http/service-module.ts'

/** Milliseconds from the issue of a code to its use at most. */
const lifetime = 60_000
/** Milliseconds for which a code outlives its end: a browser that comes too late, or twice, still learns where its sign-in leads. */
const retention = 3_600_000

/** Why a code was refused. */
type CodeFault = 'unknown-code' | 'other-host' | 'other-browser'

/** Where a sign-in leads. Without a token, the code was used before or has expired, or the session has ended. */
interface RedeemedCode {
  returnTo: string
  token?: SessionToken
}

interface HostCodesParts
  extends Pick<ModuleParts, 'database' | 'clock'>, Pick<AccountServices, 'hostSessions'> {
  record: RecordAudit
}

/** One-time codes that carry a session to another host. */
export class HostCodes {
  readonly #parts: HostCodesParts

  constructor(parts: HostCodesParts) {
    this.#parts = parts
  }

  /** @param browser SHA-256 of the value of the binding cookie, in base64url */
  async issue(to: { sessionId: string; host: string; browser: string; returnTo: string }): Promise<string> {
    const { database, clock } = this.#parts
    const code = newToken()
    await database.transaction((tx) =>
      tx
        .insertInto('host_codes')
        .values({
          code_hash: hashToken(code),
          session_id: to.sessionId,
          host: to.host,
          browser_hash: Buffer.from(to.browser, 'base64url'),
          return_to: to.returnTo,
          expires_at: clock.now() + lifetime,
        })
        .execute(),
    )
    return code
  }

  /**
   * Uses up a code, in one statement, and creates the token of its session for the host. Another host or browser cannot use it up.
   */
  async redeem(
    code: string,
    { host, browser, origin }: { host: string; browser: BoundBrowser; origin: AuditOrigin },
  ): Promise<RedeemedCode | CodeFault> {
    const { database, clock, hostSessions, record } = this.#parts
    const now = clock.now()
    const hash = hashToken(code)
    return database.transaction(async (tx) => {
      const row = await tx
        .selectFrom('host_codes')
        .selectAll()
        .where('code_hash', '=', hash)
        .executeTakeFirst()
      if (!row) return 'unknown-code'
      if (row.host !== host) return 'other-host'
      if (!browser.isBoundTo(row.browser_hash)) return 'other-browser'
      const { session_id: sessionId, return_to: returnTo } = row
      const used = await tx
        .updateTable('host_codes')
        // Not now: the clock of another process may be behind.
        .set({ expires_at: now - lifetime })
        .where('code_hash', '=', hash)
        .where('expires_at', '>', now)
        .returning('host')
        .executeTakeFirst()
      const created = used && (await hostSessions.create(tx, { sessionId, host }))
      if (!created) return { returnTo }
      const { userId, ...token } = created
      await record(tx, {
        ...origin,
        action: 'forward_auth.signed_in',
        actor: `user:${userId}`,
        sessionId,
        userId,
        target: `host:${host}`,
      })
      return { returnTo, token }
    })
  }

  sweep(now: number): Promise<void> {
    return deleteExpired(this.#parts.database, 'host_codes', now - retention)
  }
}
