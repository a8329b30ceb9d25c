import type { AuditOrigin, RecordAudit } from '../accounts/audit/audit.ts'
import type { BoundBrowser } from '../accounts/sessions/browser-binding.ts'
import type { HostSessions } from '../accounts/sessions/host-sessions.ts'
import type { SessionToken } from '../accounts/sessions/sessions.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import { deleteExpired } from '../storage/delete-expired.ts'

/** Milliseconds from the issue of a code to its use at most. */
const lifetime = 60_000

/** Why a code was refused. */
export type CodeFault = 'unknown-code' | 'expired-code' | 'other-host' | 'other-browser' | 'ended-session'

export interface HostCodesParts {
  database: Database
  clock: Clock
  hostSessions: HostSessions
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
   * Uses up a code, and creates the token of its session for the host. The code is used up even if it is refused, because then another
   * browser or host had it.
   */
  async redeem(
    code: string,
    { host, browser, origin }: { host: string; browser: BoundBrowser; origin: AuditOrigin },
  ): Promise<(SessionToken & { returnTo: string }) | CodeFault> {
    const { database, clock, hostSessions, record } = this.#parts
    const now = clock.now()
    return database.transaction(async (tx) => {
      const row = await tx
        .deleteFrom('host_codes')
        .where('code_hash', '=', hashToken(code))
        .returningAll()
        .executeTakeFirst()
      if (!row) return 'unknown-code'
      if (row.expires_at <= now) return 'expired-code'
      if (row.host !== host) return 'other-host'
      if (!browser.isBoundTo(row.browser_hash)) return 'other-browser'
      const created = await hostSessions.create(tx, { sessionId: row.session_id, host })
      if (!created) return 'ended-session'
      const { userId, ...token } = created
      await record(tx, {
        ...origin,
        action: 'forward_auth.signed_in',
        actor: `user:${userId}`,
        sessionId: row.session_id,
        userId,
        target: `host:${host}`,
      })
      return { ...token, returnTo: row.return_to }
    })
  }

  sweep(now: number): Promise<void> {
    return deleteExpired(this.#parts.database, 'host_codes', now)
  }
}
