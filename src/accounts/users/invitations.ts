import { createHmac } from 'node:crypto'
import { newId } from '../../crypto/ids.ts'
import { hashToken, newToken } from '../../crypto/secrets.ts'
import { idScope, type Cursors } from '../../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../../paging/parameters.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import { deleteExpired } from '../../storage/sql-text.ts'
import type { Row, Role } from '../../storage/tables.ts'
import type { AuditOrigin } from '../audit/audit.ts'
import type { AccountWiring } from '../services.ts'
import type { ProviderIdentity } from './identities.ts'
import { roleExpression } from './roles.ts'
import { storedGroups } from './user-profile.ts'

/** An invitation without its token. */
export type InvitationRow = Omit<Row<'invitations'>, 'token_hash'>

interface NewInvitation {
  /** Only an identity with this verified address can use it; `undefined`: anybody who has the link can. */
  email: string | undefined
  role: Role
  groups: readonly string[]
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** A new user who uses an invitation. */
interface Guest {
  userId: string
  identity: ProviderIdentity
  /** Whether the groups at the provider alone decide about the admin role. */
  exclusiveRoles: boolean
  origin: AuditOrigin
}

/** Milliseconds that an invitation stays in the list after its expiry. */
const retention = 30 * 86_400_000
const cursorScope = idScope('invitations', null)
const ofSetting = 'key:ADMIN_API_KEY'
const columns = ['id', 'email', 'role', 'groups', 'created_at', 'created_by'] as const
const ends = ['expires_at', 'revoked_at', 'used_at', 'used_by'] as const

/**
 * Invitations for new users. Each works once, and only while its creator may invite: a former admin, or a thief of a revoked key, must not
 * get back in with an invitation.
 */
export class Invitations {
  readonly #parts: AccountWiring

  constructor(parts: AccountWiring) {
    this.#parts = parts
  }

  /** Only this result contains the token. */
  async create(
    { email, role, groups, expiresAt }: NewInvitation,
    origin: AuditOrigin,
  ): Promise<{ row: InvitationRow; token: string }> {
    const now = this.#parts.clock.now()
    const token = newToken()
    const row: InvitationRow = {
      id: newId(now),
      email: email === undefined ? null : foldAddress(email),
      role,
      groups: groups.length === 0 ? null : JSON.stringify(groups),
      created_at: now,
      created_by: origin.actor ?? 'service',
      expires_at: expiresAt,
      revoked_at: null,
      used_at: null,
      used_by: null,
    }
    await this.#parts.database.transaction(async (tx) => {
      await tx
        .insertInto('invitations')
        .values({ ...row, token_hash: this.#storedHash(hashToken(token), row.created_by) })
        .execute()
      const detail = { email: row.email, role, groups: groups.join(', ') }
      await this.#parts.record(tx, { ...origin, action: 'invitation.created', target: targetOf(row), detail })
    })
    return { row, token }
  }

  /** A page of invitations, newest first, and those creators who may no longer invite. @throws Problem `invalid-cursor` */
  async page(
    cursors: Cursors,
    request: PageRequest,
  ): Promise<PageOfRows<InvitationRow> & { formerCreators: ReadonlySet<string> }> {
    const { reader } = this.#parts.database
    const all = reader.selectFrom('invitations').select([...columns, ...ends])
    const page = await cursors.newest(cursorScope, request, all)
    const formerCreators = new Set<string>()
    for (const creator of new Set(page.rows.map((row) => row.created_by)))
      if (!(await this.#mayInvite(reader, creator))) formerCreators.add(creator)
    return { ...page, formerCreators }
  }

  /** False when there is no such invitation, or it is used or revoked already. */
  async revoke(id: string, origin: AuditOrigin): Promise<boolean> {
    return this.#parts.database.transaction(async (tx) => {
      const revoked = await tx
        .updateTable('invitations')
        .set({ revoked_at: this.#parts.clock.now() })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .where('used_at', 'is', null)
        .returning('id')
        .executeTakeFirst()
      if (!revoked) return false
      await this.#parts.record(tx, { ...origin, action: 'invitation.revoked', target: targetOf(revoked) })
      return true
    })
  }

  /** An invitation that can be used. @param hash of its token */
  async find(db: Queryable, hash: Uint8Array): Promise<InvitationRow | undefined> {
    const row = await db
      .selectFrom('invitations')
      .select([...columns, ...ends])
      .where('token_hash', 'in', [hash, this.#storedHash(hash, ofSetting)])
      .where('expires_at', '>', this.#parts.clock.now())
      .where('revoked_at', 'is', null)
      .where('used_at', 'is', null)
      .executeTakeFirst()
    return row && (await this.#mayInvite(db, row.created_by)) ? row : undefined
  }

  /**
   * Uses an invitation for a user who was created in this transaction, and gives them its role and groups. If it is used twice at once,
   * one use gets `invalid`.
   */
  async use(tx: Tx, hash: Uint8Array, guest: Guest): Promise<'used' | 'invalid' | 'mismatch'> {
    const { userId, identity, exclusiveRoles, origin } = guest
    const invitation = await this.find(tx, hash)
    if (!invitation) return 'invalid'
    const { id, email, groups } = invitation
    if (email !== null && !(identity.emailVerified && foldAddress(identity.email ?? '') === email))
      return 'mismatch'
    const used = await tx
      .updateTable('invitations')
      .set({ used_at: this.#parts.clock.now(), used_by: userId })
      .where('id', '=', id)
      .where('used_at', 'is', null)
      .where('revoked_at', 'is', null)
      .returning('id')
      .executeTakeFirst()
    if (!used) return 'invalid'
    const role = exclusiveRoles ? 'user' : invitation.role
    await tx.updateTable('users').set({ role, groups }).where('id', '=', userId).execute()
    const { provider, providerId } = identity
    const about = { ...origin, userId, provider, providerId, target: targetOf(invitation) }
    const detail = { role, groups: storedGroups(groups).join(', ') }
    await this.#parts.record(tx, { ...about, actor: `user:${userId}`, action: 'invitation.used', detail })
    if (role === 'admin') {
      const change = { from: 'user', to: role, by: 'invitation' }
      await this.#parts.record(tx, {
        ...about,
        actor: invitation.created_by,
        action: 'user.role_changed',
        detail: change,
      })
    }
    return 'used'
  }

  sweep(now: number): Promise<void> {
    return deleteExpired(this.#parts.database, 'invitations', now - retention)
  }

  /** An invitation by ADMIN_API_KEY is stored under a hash with this key, which has no row: with another key, nobody finds it. */
  #storedHash(hash: Uint8Array, createdBy: string): Uint8Array {
    const { adminApiKey: adminKey } = this.#parts.configuration
    if (createdBy !== ofSetting || adminKey === undefined) return hash
    return createHmac('sha256', adminKey).update(hash).digest()
  }

  /** Whether a user is still an unblocked admin, a key still valid, or an app, which invited without a user, still allowed to. */
  async #mayInvite(db: Queryable, actor: string): Promise<boolean> {
    const kind = actor.split(':', 1)[0]!
    // The id of an app may have colons.
    const id = actor.slice(kind.length + 1)
    if (kind === 'user') {
      const user = await db
        .selectFrom('users')
        .select(roleExpression(this.#parts.admins).as('role'))
        .where('users.id', '=', id)
        .where('users.blocked_at', 'is', null)
        .executeTakeFirst()
      return user?.role === 'admin'
    }
    if (kind === 'app') return (await this.#parts.findApp(id))?.scopes?.includes('users:write') === true
    if (kind !== 'key') return actor === 'service'
    // `find` found it by this key.
    if (actor === ofSetting) return true
    const key = await db
      .selectFrom('api_keys')
      .select('expires_at')
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    return key !== undefined && (key.expires_at ?? Number.POSITIVE_INFINITY) > this.#parts.clock.now()
  }
}

/**
 * An e-mail address for comparison, with ASCII letters in lower case. Unicode's case mapping would make different addresses equal, such
 * as those with K and with the Kelvin sign.
 */
function foldAddress(email: string): string {
  return email.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

function targetOf({ id }: Pick<InvitationRow, 'id'>): string {
  return `invitation:${id}`
}
