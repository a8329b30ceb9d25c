import type { AccountWiring } from '../services.ts'
import type { Tx } from '../../storage/database.ts'
import type { AuditOrigin } from '../audit/audit.ts'
import { hasAdmin, lockAdmins } from './administration.ts'
import type { SessionToken } from '../sessions/sessions.ts'
import { type FoundUser, ownerOf, type ProviderIdentity } from './identities.ts'
import { lockUser, type Roles } from './users.ts'

export interface IdentityChange {
  userId: string
  /** The session that makes the change; it does not end. None for an app's sign-in. */
  sessionId?: string | undefined
  origin: AuditOrigin
  /** The session's next token; default: a new one. */
  token?: string
}

/** A sign-in that may change the role by the groups of the identity. */
interface GroupChange {
  identity: ProviderIdentity
  origin: AuditOrigin
  /** Whether the groups decide alone: a role that an admin assigned ends, too. */
  exclusive: boolean
}

/**
 * Linking or unlinking an identity changes the user's role if the identity makes its user an admin, and so does a sign-in with
 * other groups than before. As with every role change, credentials from before the change are revoked.
 */
export class RoleChanges {
  readonly #parts: AccountWiring

  constructor(parts: AccountWiring) {
    this.#parts = parts
  }

  /**
   * Runs `work`, which changes a user's identities. If the role changes, all other sessions and tokens of the user end,
   * this session gets a new token (`renewed`), and the change is audited.
   */
  async apply<T>(
    tx: Tx,
    { userId, sessionId, origin, token }: IdentityChange,
    work: () => Promise<T>,
  ): Promise<{ result: T; renewed: SessionToken | undefined }> {
    const { users, devices, sessions, record } = this.#parts
    // Locked before the first read: of two concurrent changes the second one sees the first.
    await lockUser(tx, userId)
    const before = await users.find(tx, userId)
    const reason = await users.adminReason(tx, userId)
    const result = await work()
    const after = await users.find(tx, userId)
    if (!before || !after || before.role === after.role) return { result, renewed: undefined }
    const by = reason ?? (await users.adminReason(tx, userId)) ?? null
    const detail = { from: before.role, to: after.role, by }
    const actor = `user:${userId}`
    await record(tx, { ...origin, actor, action: 'user.role_changed', userId, detail })
    await devices.revokeAll(tx, userId, sessionId)
    return {
      result,
      renewed: sessionId === undefined ? undefined : await sessions.renewToken(tx, sessionId, token),
    }
  }

  /**
   * Runs `work`, which finds or creates the user of an identity and stores its groups. If the role changes, all sessions and
   * tokens of the user end, and the change is audited. If it changes in those of this provider only, because another identity makes the
   * user an admin too, then these end: a process may have them in memory with the old role. Call it before the sign-in creates its own.
   */
  async atSignIn(
    tx: Tx,
    { identity, origin, exclusive }: GroupChange,
    work: () => Promise<FoundUser>,
  ): Promise<FoundUser> {
    const { database, users, admins } = this.#parts
    const { provider } = identity
    if (!exclusive && !admins.some((rule) => 'group' in rule && rule.provider === provider)) return work()
    if (exclusive) await lockAdmins(database, tx)
    const known = await ownerOf(tx, identity)
    if (known !== undefined) await lockUser(tx, known)
    const before = known === undefined ? undefined : await users.roles(tx, known, provider)
    const found = await work()
    // The identity came into being between the two: the other sign-in has recorded its role and begun its session.
    if (known === undefined && !found.created) return found
    const { userId } = found
    if (exclusive && identity.adminGroup === null) await this.#endAssignedRole(tx, userId)
    const after = await users.roles(tx, userId, provider)
    await this.#endOlder(tx, userId, { identity, origin, before, after })
    return found
  }

  /** Ends and audits what the change of a role by groups concerns. */
  async #endOlder(
    tx: Tx,
    userId: string,
    {
      identity,
      origin,
      before,
      after,
    }: Omit<GroupChange, 'exclusive'> & Record<'before' | 'after', Roles | undefined>,
  ): Promise<void> {
    const { devices, record } = this.#parts
    const { provider, providerId, adminGroup } = identity
    const isOfAll = (before?.role ?? 'user') !== (after?.role ?? 'user')
    const field = isOfAll ? 'role' : 'atProvider'
    const [from, to] = [before?.[field] ?? 'user', after?.[field] ?? 'user']
    if (from === to) return
    const detail = {
      from,
      to,
      by: 'groups',
      ...(adminGroup !== null && { group: adminGroup }),
      ...(!isOfAll && { sessions: provider }),
    }
    const entry = { ...origin, actor: 'service', userId, provider, providerId, detail }
    await record(tx, { ...entry, action: 'user.role_changed' })
    await devices.revokeAll(tx, userId, undefined, isOfAll ? undefined : provider)
  }

  /** The role of the row, unless it is that of the last admin. */
  async #endAssignedRole(tx: Tx, userId: string): Promise<void> {
    const setRole = (role: 'user' | 'admin') =>
      tx.updateTable('users').set({ role }).where('id', '=', userId).execute()
    const row = await lockUser(tx, userId)
    if (row?.role !== 'admin') return
    await setRole('user')
    if (!(await hasAdmin(tx, this.#parts.admins))) await setRole('admin')
  }
}
