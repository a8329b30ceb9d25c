import type { Tx } from '../storage/database.ts'
import type { AuditOrigin, RecordAudit } from './audit.ts'
import type { Devices } from './devices.ts'
import type { Sessions, SessionToken } from './sessions.ts'
import { lockUser, type Users } from './users.ts'

export interface IdentityChange {
  userId: string
  /** The session that makes the change; it stays. */
  sessionId: string
  origin: AuditOrigin
}

export interface RoleChangesParts {
  users: Users
  devices: Devices
  sessions: Sessions
  record: RecordAudit
}

/**
 * Linking or unlinking an identity of ADMIN_IDENTITIES changes the user's role. As with every role change, credentials
 * from before the change are revoked.
 */
export class RoleChanges {
  readonly #parts: RoleChangesParts

  constructor(parts: RoleChangesParts) {
    this.#parts = parts
  }

  /**
   * Runs `work`, which changes a user's identities. If the role changes, all other sessions and tokens of the user end,
   * this session gets a new token (`renewed`), and the change is audited.
   */
  async apply<T>(
    tx: Tx,
    { userId, sessionId, origin }: IdentityChange,
    work: () => Promise<T>,
  ): Promise<{ result: T; renewed: SessionToken | undefined }> {
    const { users, devices, sessions, record } = this.#parts
    // Locked before the first read: of two concurrent changes the second one sees the first.
    await lockUser(tx, userId)
    const before = await users.find(tx, userId)
    const result = await work()
    const after = await users.find(tx, userId)
    if (!before || !after || before.role === after.role) return { result, renewed: undefined }
    const detail = { from: before.role, to: after.role, by: 'ADMIN_IDENTITIES' }
    const actor = `user:${userId}`
    await record(tx, { ...origin, actor, action: 'user.role_changed', userId, detail })
    await devices.revokeAll(tx, userId, sessionId)
    return { result, renewed: await sessions.renewToken(tx, sessionId) }
  }
}
