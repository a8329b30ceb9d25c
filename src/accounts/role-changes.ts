import type { Tx } from '../storage/database.ts'
import type { AuditOrigin, RecordAudit } from './audit.ts'
import type { Devices } from './devices.ts'
import type { Sessions } from './sessions.ts'
import type { Users } from './users.ts'

export interface IdentityChange {
  userId: string
  /** The session that changes its user's identities: it goes on. */
  sessionId: string
  origin: AuditOrigin
}

/** A new token for the session that goes on, for its cookie. */
export type Renewed = { token: string; maxAge: number }

/**
 * Changes of the role that come with a linked or unlinked identity, by ADMIN_IDENTITIES. As with every other change of a
 * role nobody goes on with a credential that was made when the account could do something else.
 */
export class RoleChanges {
  readonly #users: Users
  readonly #devices: Devices
  readonly #sessions: Sessions
  readonly #record: RecordAudit

  constructor(parts: { users: Users; devices: Devices; sessions: Sessions; record: RecordAudit }) {
    this.#users = parts.users
    this.#devices = parts.devices
    this.#sessions = parts.sessions
    this.#record = parts.record
  }

  /**
   * Runs work that changes a user's identities. When the role is another one after it, all other sessions and tokens
   * of the user end, this one gets a new token, and the audit log tells of it. `renewed` is absent when the role is the same.
   */
  async watch<T>(
    tx: Tx,
    { userId, sessionId, origin }: IdentityChange,
    work: () => Promise<T>,
  ): Promise<{ result: T; renewed: Renewed | undefined }> {
    // Before the first look, so that two changes at once see each other's.
    await this.#users.lock(tx, userId)
    const before = await this.#users.find(tx, userId)
    const result = await work()
    const after = await this.#users.find(tx, userId)
    if (!before || !after || before.role === after.role) return { result, renewed: undefined }
    const detail = { from: before.role, to: after.role, by: 'ADMIN_IDENTITIES' }
    const actor = `user:${userId}`
    await this.#record(tx, { ...origin, actor, action: 'user.role_changed', userId, detail })
    await this.#devices.revokeAll(tx, userId, sessionId)
    return { result, renewed: await this.#sessions.renewToken(tx, sessionId) }
  }
}
