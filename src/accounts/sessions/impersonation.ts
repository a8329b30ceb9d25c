import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { hashToken } from '../../crypto/secrets.ts'
import { Problem } from '../../errors.ts'
import type { Principal } from '../../http/access/principal.ts'
import type { ShownImpersonation } from '../../http/pages/impersonation-banner.ts'
import { HostCookie, maxAgeUntil } from '../../http/responses/host-cookie.ts'
import { nullable } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { Tx } from '../../storage/database.ts'
import { auditOrigin } from '../audit/audit.ts'
import type { AccountWiring } from '../services.ts'
import { lockUser } from '../users/users.ts'
import type { Session } from './session-lookup.ts'

/** Milliseconds for which an admin may act for a user. */
const longest = 3_600_000

/** Who acts for the user of a session, for the user and for the admin. */
export const ImpersonationView = Type.Object({
  by: Type.Object({ id: Type.String(), name: nullable(Type.String()) }, { description: 'The admin' }),
  reason: Type.String(),
})

/** Why an admin may not act for a user. */
type Refusal = 'account-blocked' | 'account-is-admin'

/**
 * Admins who act for a user: a session as that user in the admin's browser, which ends with the admin's own session. Meanwhile, the
 * browser has both tokens. The session cookie has the user's, so the admin does nothing as themselves by mistake.
 */
export class Impersonations {
  readonly #parts: AccountWiring
  /** The token of the admin's own session, and the hash of the other session's token, without which it has no effect. */
  readonly #returnCookie: HostCookie

  constructor(parts: AccountWiring) {
    this.#parts = parts
    this.#returnCookie = new HostCookie('postern_impersonator', parts.baseUrl, /^[\w-]{43}\.[\w-]{43}$/)
  }

  /**
   * Opens a session as a user. If the admin's session already has one, that ends.
   * @param own the admin's session and its token
   * @throws Problem `not-found`, `conflict` for a blocked user and for an admin
   */
  async start(
    reply: FastifyReply,
    { userId, reason }: { userId: string; reason: string },
    own: { session: Session; token: string },
  ): Promise<{ id: string; expiresAt: number }> {
    const { database, clock, audit, sessionCookie } = this.#parts
    const origin = auditOrigin(reply.request)
    const endsAt = Math.min(clock.now() + longest, own.session.expiresAt)
    const opened = await database.transaction(async (tx) => {
      const provider = await this.#providerOf(tx, userId)
      if (typeof provider !== 'string') return provider.refusal
      const impersonation = { adminId: own.session.userId, adminSessionId: own.session.id, reason, endsAt }
      await this.#parts.sessions.endImpersonations(tx, [own.session.id])
      const session = await this.#parts.sessions.create(tx, {
        userId,
        provider,
        address: null,
        userAgent: undefined,
        // Nobody authenticated the user.
        authentication: { at: clock.now(), proof: 'unproven', acr: null, amr: null },
        impersonation,
      })
      const entry = { action: 'impersonation.started', target: `session:${session.id}` } as const
      const detail = { reason, until: isoTime(endsAt) }
      await audit.record(tx, { ...origin, ...entry, userId, detail })
      return session
    })
    if (typeof opened === 'string') {
      await audit.note({ ...origin, action: 'impersonation.refused', userId, code: opened })
      throw new Problem('conflict', { detail: refusals[opened] })
    }
    const maxAge = maxAgeUntil(own.session.expiresAt, clock.now())
    // The cookie outlives its session: with it, the browser can still restore the admin's own session.
    sessionCookie.set(reply, opened.token, maxAge)
    this.#returnCookie.set(reply, `${own.token}.${hashText(opened.token)}`, maxAge)
    return { id: opened.id, expiresAt: endsAt }
  }

  /**
   * Restores the admin's own session in the browser after the session as a user has ended. Otherwise, the session cookie does not change.
   * @returns the admin's own session and its token
   */
  async restore(reply: FastifyReply): Promise<{ session: Session; token: string } | undefined> {
    const { sessions, sessionCookie, clock } = this.#parts
    const { request } = reply
    const current = sessionCookie.read(request)
    const [token, hash] = this.#returnCookie.read(request)?.split('.') ?? []
    if (current === undefined || token === undefined || hash !== hashText(current)) return undefined
    if (await sessions.look(current)) return undefined
    this.#returnCookie.clear(reply)
    const session = await sessions.find(token)
    if (!session) return undefined
    sessionCookie.set(reply, token, maxAgeUntil(session.expiresAt, clock.now()))
    return { session, token }
  }

  /** For the pages' banner; `undefined` unless an admin acts for a user in this browser. */
  async shown(request: FastifyRequest): Promise<ShownImpersonation | undefined> {
    const { sessions, sessionCookie, database } = this.#parts
    const session = await sessions.look(sessionCookie.read(request))
    if (!session || session.impersonatorId === null) return undefined
    const query = database.reader
      .selectFrom('users')
      .select(['name', 'email'])
      .where('id', '=', session.userId)
    const user = await query.executeTakeFirst()
    return { user: user?.name ?? user?.email ?? session.userId, until: isoTime(session.expiresAt) }
  }

  /** Who acts for a request's user; `undefined` if nobody does. */
  async describe({
    impersonator,
    kind,
    sessionId = '',
  }: Principal): Promise<Static<typeof ImpersonationView> | undefined> {
    if (!impersonator) return undefined
    const table = kind === 'session' ? 'sessions' : 'token_families'
    const { reader } = this.#parts.database
    const row = await reader
      .selectFrom(table as 'sessions')
      .select('impersonation_reason as reason')
      .where('id', '=', sessionId)
      .executeTakeFirst()
    const admin = await reader
      .selectFrom('users')
      .select('name')
      .where('id', '=', impersonator.userId)
      .executeTakeFirst()
    return { by: { id: impersonator.userId, name: admin?.name ?? null }, reason: row?.reason ?? '' }
  }

  /** The provider whose groups apply to the user, or why nobody may act for the user. @throws Problem `not-found` */
  async #providerOf(tx: Tx, userId: string): Promise<string | { refusal: Refusal }> {
    // Lock the user: a block or a new role then either comes before, or finds the new session and ends it.
    if (!(await lockUser(tx, userId))) throw new Problem('not-found')
    const account = await this.#parts.administration.find(tx, userId)
    if (!account) throw new Problem('not-found')
    if (account.role === 'admin') return { refusal: 'account-is-admin' }
    return account.blockedAt === null ? account.provider : { refusal: 'account-blocked' }
  }
}

const refusals: Record<Refusal, string> = {
  'account-blocked': 'The account is blocked: unblock it first.',
  'account-is-admin': 'The account is an administrator. You can act only for other users.',
}

function hashText(token: string): string {
  return hashToken(token).toString('base64url')
}
