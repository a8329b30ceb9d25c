import type { AuditOrigin, RecordAudit } from '../../accounts/audit/audit.ts'
import type { TokenFamilies } from '../../accounts/tokens/token-families.ts'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import type { Sessions } from '../../accounts/sessions/sessions.ts'
import type { Database } from '../../storage/database.ts'
import type { Consents } from '../consent/consents.ts'
import type { EndSessionRequest, Next, Onward } from './end-session-request.ts'

/** Where a browser ends its session at a provider; `undefined` when the sign-out ends here. */
export type EndSessionUrl = (
  provider: string,
  request: { postLogoutRedirectUri: string; state: string },
) => Promise<URL | undefined>

export interface SignOutParts {
  database: Database
  sessions: Sessions
  tokenFamilies: TokenFamilies
  record: RecordAudit
  endSessionUrl: EndSessionUrl
  onward: Onward
  consents: Consents
  baseUrl: () => string
}

/** The path at which browsers come back from the sign-out at their identity provider. */
export const returnPath = '/oauth2/end-session/return'

/** Ends browser sessions for apps. */
export class SignOut {
  readonly #parts: SignOutParts

  constructor(parts: SignOutParts) {
    this.#parts = parts
  }

  /** Whether the app showed that it got a sign-in of this session. Then it may end the session without a question. */
  async mayEnd(session: Session, { hint }: EndSessionRequest): Promise<boolean> {
    if (!hint || hint.userId !== session.userId) return false
    const { database, tokenFamilies } = this.#parts
    return (await tokenFamilies.sessionOf(database.reader, hint.familyId)) === session.id
  }

  /**
   * Where the browser goes on for an app; `undefined` for our own page.
   * @param userId of the browser's session, also if it has just ended
   */
  async next({ client, redirect }: EndSessionRequest, userId: string | undefined): Promise<Next | undefined> {
    if (!client || redirect === undefined) return undefined
    return { url: redirect, asks: !(await this.#parts.consents.trusts(client, userId)) }
  }

  /** Ends a session. Returns where the browser goes on; `undefined` for our own page. */
  async end(
    { id, userId, provider }: Session,
    wanted: EndSessionRequest,
    origin: AuditOrigin,
  ): Promise<Next | undefined> {
    const { client } = wanted
    const { sessions, record, endSessionUrl, onward, baseUrl } = this.#parts
    await sessions.revoke(userId, id, (tx) =>
      record(tx, {
        ...origin,
        action: 'user.signed_out',
        userId,
        actor: `user:${userId}`,
        sessionId: id,
        target: `session:${id}`,
        ...(client && { detail: { app: client.id } }),
      }),
    )
    const postLogoutRedirectUri = `${baseUrl().replace(/(?<!\/)\/+$/, '')}${returnPath}`
    const next = await this.next(wanted, userId)
    const atProvider = await endSessionUrl(provider, { postLogoutRedirectUri, state: onward.state(next) })
    return atProvider ? { url: atProvider.href, asks: false } : next
  }
}
