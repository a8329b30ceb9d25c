import type { AccountBasis } from '../services.ts'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { Role } from '../../storage/tables.ts'
import type { AuditEntry, AuditOrigin } from '../audit/audit.ts'
import type { Devices } from '../sessions/devices.ts'
import { type AdminRule, isAdminIdentity, roleExpression } from './roles.ts'
import { storedGroups } from './user-profile.ts'
import { lockUser } from './users.ts'
import { sql } from 'kysely'
import { locks } from '../../storage/advisory-locks.ts'

/** Changes that an admin can make to an account. */
export interface AccessChange {
  blocked?: boolean | undefined
  role?: Role | undefined
  /** The user's own groups, which no provider gives; they replace the previous ones. */
  groups?: readonly string[] | undefined
}

/** What admins see of an account. `lastSeenAt` is 0 for an imported user who has never signed in. */
export type Account = NonNullable<Awaited<ReturnType<Administration['find']>>>

/** Who asks for a change, and whether they may give the rights of an admin. */
interface ChangeCaller {
  origin: AuditOrigin
  /** @throws Problem unless the caller has these rights, so that nobody gives more than they have */
  requireAdmin: () => void
}

interface AdministrationParts extends AccountBasis {
  devices: Devices
  /** Whether the last admin may be blocked or demoted. True for the command line only, which can undo it. */
  mayRemoveLastAdmin: boolean
}

/**
 * Blocks, unblocks and deletes users and changes their roles. Every change revokes all sessions and tokens of the user, so that no
 * credential outlives the rights that it was issued with.
 */
export class Administration {
  readonly #parts: AdministrationParts

  constructor(parts: AdministrationParts) {
    this.#parts = parts
  }

  async find(db: Queryable, id: string) {
    return db
      .selectFrom('users')
      .select(['id', 'email', 'name', 'provider', 'provider_id as providerId'])
      .select(['blocked_at as blockedAt', 'created_at as createdAt', 'last_seen_at as lastSeenAt'])
      .select(roleExpression(this.#parts.admins).as('role'))
      .where('id', '=', id)
      .executeTakeFirst()
  }

  /** Finds an account by its id or by `provider:providerId`. Returns its id. */
  async resolve(text: string): Promise<string | undefined> {
    const { reader } = this.#parts.database
    if (isId(text)) return (await this.find(reader, text))?.id
    const colon = text.indexOf(':')
    const row = await reader
      .selectFrom('identities')
      .select('user_id')
      .where('provider', '=', text.slice(0, Math.max(0, colon)))
      .where('provider_id', '=', text.slice(colon + 1))
      .executeTakeFirst()
    return row?.user_id
  }

  /**
   * Applies the given fields that differ. Returns the changed account; `undefined` if it does not exist.
   * @throws Problem `conflict` when an identity in ADMIN_IDENTITIES or a group makes the account an admin, which only that
   * setting or the provider can change; `last-admin` when no unblocked admin would remain; that of `requireAdmin` when an account
   * becomes an admin, gets a group, or an admin is let in again, by a caller who may not give these rights.
   */
  async change(
    id: string,
    change: AccessChange,
    { origin, requireAdmin }: ChangeCaller,
  ): Promise<Account | undefined> {
    const { database, devices, admins, mayRemoveLastAdmin } = this.#parts
    return database.transaction(async (tx) => {
      if (change.blocked === true || change.role === 'user') await lockAdmins(database, tx)
      const row = await lockUser(tx, id)
      if (!row) return undefined
      const before = await this.find(tx, id)
      if (change.role === 'user' && row.role === 'user' && before?.role === 'admin')
        throw new Problem('conflict', {
          detail:
            'An identity of this account is in ADMIN_IDENTITIES, or in a group whose members are admins: remove it there.',
        })
      const entries: AuditEntry[] = []
      if (change.blocked !== undefined && change.blocked !== (row.blocked_at !== null))
        entries.push(await this.#setBlocked(tx, id, change.blocked))
      if (change.role !== undefined && change.role !== row.role)
        entries.push(await setRole(tx, id, row.role, change.role))
      const { added, entry } = await setGroups(tx, id, change.groups)
      if (entry) entries.push(entry)
      if (added) requireAdmin()
      for (const entry of entries) await this.#parts.record(tx, { ...entry, ...origin })
      if (entries.length > 0) await devices.revokeAll(tx, id)
      const after = await this.find(tx, id)
      if (givesAdmin(before, after)) requireAdmin()
      const removesAdmin = isUnblockedAdmin(before) && !isUnblockedAdmin(after)
      if (removesAdmin && !mayRemoveLastAdmin && !(await hasAdmin(tx, admins)))
        throw new Problem('last-admin')
      return after
    })
  }

  /**
   * Deletes an account with its identities, sessions, consents and tokens; apps are told that their sign-ins ended. Its entries of the
   * audit log stay until AUDIT_RETENTION. Returns whether it existed.
   * @throws Problem `last-admin` when no unblocked admin would remain
   */
  async delete(id: string, origin: AuditOrigin): Promise<boolean> {
    const { database, devices, admins, mayRemoveLastAdmin, record } = this.#parts
    return database.transaction(async (tx) => {
      await lockAdmins(database, tx)
      if (!(await lockUser(tx, id))) return false
      const before = await this.find(tx, id)
      // First, because it tells apps and other processes, which the deletion alone would not.
      await devices.revokeAll(tx, id)
      await tx.deleteFrom('users').where('id', '=', id).execute()
      await record(tx, { action: 'user.deleted', userId: id, ...origin })
      if (isUnblockedAdmin(before) && !mayRemoveLastAdmin && !(await hasAdmin(tx, admins)))
        throw new Problem('last-admin')
      return true
    })
  }

  async #setBlocked(tx: Tx, id: string, blocked: boolean): Promise<AuditEntry> {
    await tx
      .updateTable('users')
      .set({ blocked_at: blocked ? this.#parts.clock.now() : null })
      .where('id', '=', id)
      .execute()
    return { action: blocked ? 'user.blocked' : 'user.unblocked', userId: id }
  }
}

async function setRole(tx: Tx, id: string, from: Role, to: Role): Promise<AuditEntry> {
  await tx.updateTable('users').set({ role: to }).where('id', '=', id).execute()
  return { action: 'user.role_changed', userId: id, detail: { from, to } }
}

/** Replaces the groups that the service itself gives. Without an entry nothing changed. */
async function setGroups(
  tx: Tx,
  id: string,
  groups: readonly string[] | undefined,
): Promise<{ added: boolean; entry?: AuditEntry }> {
  if (groups === undefined) return { added: false }
  const row = await tx.selectFrom('users').select('groups').where('id', '=', id).executeTakeFirst()
  const before = new Set(storedGroups(row?.groups ?? null))
  const added = groups.some((group) => !before.has(group))
  if (!added && groups.length === before.size) return { added }
  const stored = groups.length === 0 ? null : JSON.stringify(groups)
  await tx.updateTable('users').set({ groups: stored }).where('id', '=', id).execute()
  const detail = { from: [...before].join(', '), to: groups.join(', ') }
  return { added, entry: { action: 'user.groups_changed', userId: id, detail } }
}

/** Whether an account becomes an admin, blocked or not, or a blocked admin is let in again. */
function givesAdmin(before: Account | undefined, after: Account | undefined): boolean {
  if (after?.role !== 'admin') return false
  return before?.role !== 'admin' || (!isUnblockedAdmin(before) && isUnblockedAdmin(after))
}

function isUnblockedAdmin(account: Account | undefined): boolean {
  return account?.role === 'admin' && account.blockedAt === null
}

/**
 * Two admins that demote each other at the same time would each still see the other one as admin. On SQLite there is one
 * writer at a time. Take it before the lock of a user's row.
 */
export async function lockAdmins({ engine }: Pick<Database, 'engine'>, tx: Tx): Promise<void> {
  if (engine === 'postgres')
    await sql`select pg_advisory_xact_lock(${locks.admin[0]}, ${locks.admin[1]})`.execute(tx)
}

/** Whether there is an admin who is not blocked. */
export async function hasAdmin(tx: Tx, admins: readonly AdminRule[]): Promise<boolean> {
  const unblocked = tx.selectFrom('users').select('users.id').where('users.blocked_at', 'is', null).limit(1)
  // A literal, not a parameter: otherwise the partial index of admins is not used.
  if (await unblocked.where(sql<boolean>`users.role = 'admin'`).executeTakeFirst()) return true
  const listed = unblocked
    .innerJoin('identities', 'identities.user_id', 'users.id')
    .where(isAdminIdentity(admins))
  return admins.length > 0 && (await listed.executeTakeFirst()) !== undefined
}
