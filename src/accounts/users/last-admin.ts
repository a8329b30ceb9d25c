import { sql } from 'kysely'
import { adminLock } from '../../storage/advisory-locks.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { isAdminIdentity, type AdminRule } from './roles.ts'

/**
 * Two admins that demote each other at the same time would each still see the other one as admin. On SQLite there is one
 * writer at a time. Take it before the lock of a user's row.
 */
export async function lockAdmins({ engine }: Pick<Database, 'engine'>, tx: Tx): Promise<void> {
  if (engine === 'postgres')
    await sql`select pg_advisory_xact_lock(${adminLock[0]}, ${adminLock[1]})`.execute(tx)
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
