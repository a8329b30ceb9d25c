import { sql } from 'kysely'
import { lockSpaces } from '../../storage/advisory-locks.ts'
import type { Database, Tx } from '../../storage/database.ts'

/**
 * Serializes transactions that count the objects of an owner, until they end. SQLite has one write lock and needs none. Two
 * owners with the same hash share a lock, which is harmless.
 */
export async function lockOwner(engine: Database['engine'], tx: Tx, owner: string): Promise<void> {
  if (engine === 'postgres')
    await sql`select pg_advisory_xact_lock(${lockSpaces.owners}::integer, hashtext(${owner}))`.execute(tx)
}
