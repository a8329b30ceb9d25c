import { type AuditOrigin, AuditedStore } from '../accounts/audit/audit.ts'
import { newId } from '../crypto/ids.ts'
import { hashToken, newToken } from '../crypto/secrets.ts'
import { Problem } from '../errors.ts'
import type { Tx } from '../storage/database.ts'
import { OwnerDirectory, targetOf } from './subscribers/owner-directory.ts'
import type { Row } from '../storage/tables.ts'

export type PortalSession = Pick<Row<'portal_sessions'>, 'id' | 'owner' | 'expires_at'>

/**
 * Links and sessions for the pages on which owners manage their subscribers. An admin creates a link; it starts one session and
 * then is invalid. The tokens of both are stored as hashes.
 */
export class Portal extends AuditedStore {
  readonly #owners = new OwnerDirectory(this.database, this.clock, this.record)

  /**
   * Creates a link, and removes expired links and sessions.
   * @param name sets the owner's display name
   * @param lasts milliseconds until the link, its session and the token expire. Only with `token`, a token for the Svix-compatible
   * API is created. It sees event types behind its `featureFlags`.
   */
  async createLink(
    { owner, name }: { owner: string; name?: string | undefined },
    lasts: { link: number; session: number; token?: number; featureFlags?: readonly string[] },
    origin: AuditOrigin,
  ): Promise<{ token: string; expiresAt: number; apiToken?: string }> {
    const now = this.clock.now()
    const token = newToken()
    const expiresAt = now + lasts.link
    const apiToken = lasts.token === undefined ? undefined : newToken('appsk_')
    await this.database.transaction(async (tx) => {
      if (name !== undefined) await this.#owners.changeWithin(tx, owner, { name }, origin)
      await tx.deleteFrom('portal_links').where('expires_at', '<=', now).execute()
      await tx.deleteFrom('portal_sessions').where('expires_at', '<=', now).execute()
      await tx
        .insertInto('portal_links')
        .values({
          token_hash: hashToken(token),
          owner,
          session_ms: lasts.session,
          created_at: now,
          expires_at: expiresAt,
        })
        .execute()
      if (apiToken !== undefined)
        await tx
          .insertInto('portal_sessions')
          .values({
            id: newId(now),
            owner,
            token_hash: hashToken(apiToken),
            feature_flags: JSON.stringify(lasts.featureFlags ?? []),
            created_at: now,
            expires_at: now + lasts.token!,
          })
          .execute()
      await this.record(tx, { action: 'portal.link_created', target: targetOf(owner), ...origin })
    })
    return { token, expiresAt, ...(apiToken !== undefined && { apiToken }) }
  }

  /**
   * Uses up a link and starts a session of `lasts` milliseconds, which replaces the session of the browser. If two requests open
   * the same link, one succeeds.
   * @param opening.before the current session of the browser
   * @param opening.replace whether to replace a session of another owner; if not, the link stays valid
   * @param opening.embedded whether the session is for the page in a frame, which sends its token itself
   * @throws Problem `not-signed-in` for an unknown, used or expired link; `other-portal-session`
   */
  async open(
    link: string,
    origin: AuditOrigin,
    { before, replace, embedded }: { before: PortalSession | undefined; replace: boolean; embedded: boolean },
  ): Promise<{ token: string; session: PortalSession; lasts: number }> {
    const now = this.clock.now()
    // A cookie is not valid as a token, nor a token as a cookie.
    const token = embedded ? `pt_${newToken()}` : newToken()
    return this.database.transaction(async (tx) => {
      const spent = await tx
        .deleteFrom('portal_links')
        .where('token_hash', '=', hashToken(link))
        .returning(['owner', 'session_ms', 'expires_at'])
        .executeTakeFirst()
      if (!spent || spent.expires_at <= now)
        throw new Problem('not-signed-in', {
          detail: 'The link is no longer valid: it works once, and for a short time. Ask for a new one.',
        })
      const { owner, session_ms } = spent
      if (before && before.owner !== owner && !replace)
        throw new Problem('other-portal-session', {
          detail: `You are signed in as ${before.owner}. The link opens the portal of ${owner}.`,
        })
      if (before) await this.#endWithin(tx, before, origin)
      const session = { id: newId(now), owner, expires_at: now + session_ms }
      await tx
        .insertInto('portal_sessions')
        .values({ ...session, token_hash: hashToken(token), created_at: now })
        .execute()
      await this.record(tx, {
        action: 'portal.opened',
        target: targetOf(owner),
        ...origin,
        actor: targetOf(owner),
        sessionId: session.id,
      })
      return { token, session, lasts: session_ms }
    })
  }

  /** Returns `undefined` for an unknown or expired session. */
  async find(token: string): Promise<PortalSession | undefined> {
    return this.database.reader
      .selectFrom('portal_sessions')
      .select(['id', 'owner', 'expires_at'])
      .where('token_hash', '=', hashToken(token))
      .where('expires_at', '>', this.clock.now())
      .executeTakeFirst()
  }

  /** The feature flags of a session. */
  async featureFlags(id: string): Promise<string[]> {
    const row = await this.database.reader
      .selectFrom('portal_sessions')
      .select('feature_flags')
      .where('id', '=', id)
      .executeTakeFirst()
    return JSON.parse(row?.feature_flags ?? '[]') as string[]
  }

  async end(session: Pick<PortalSession, 'id' | 'owner'>, origin: AuditOrigin): Promise<void> {
    await this.database.transaction((tx) => this.#endWithin(tx, session, origin))
  }

  async #endWithin(
    tx: Tx,
    { id, owner }: Pick<PortalSession, 'id' | 'owner'>,
    origin: AuditOrigin,
  ): Promise<void> {
    await tx.deleteFrom('portal_sessions').where('id', '=', id).execute()
    await this.record(tx, { action: 'portal.left', target: targetOf(owner), ...origin })
  }

  /** Ends all links, sessions and tokens of an owner. @param within milliseconds until they end at the latest */
  async revoke(owner: string, origin: AuditOrigin, within = 0): Promise<void> {
    const end = this.clock.now() + within
    await this.database.transaction(async (tx) => {
      for (const table of ['portal_links', 'portal_sessions'] as const)
        if (within === 0) await tx.deleteFrom(table).where('owner', '=', owner).execute()
        else
          await tx
            .updateTable(table)
            .set({ expires_at: end })
            .where('owner', '=', owner)
            .where('expires_at', '>', end)
            .execute()
      await this.record(tx, { action: 'portal.revoked', target: targetOf(owner), ...origin })
    })
  }
}
