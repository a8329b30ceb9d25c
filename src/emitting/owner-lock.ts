import { sql } from 'kysely'
import type { Database, Tx } from '../storage/database.ts'

/** The first key of the advisory locks on owners; other locks have other first keys. */
const lockSpace = 7_232

/**
 * Lets transactions that count what an owner has come one after the other, until their ends. On SQLite they do so by
 * themselves: it has one write lock. Two owners whose hashes are equal wait for each other, which harms nothing.
 */
export async function lockOwner(engine: Database['engine'], tx: Tx, owner: string): Promise<void> {
  if (engine === 'postgres')
    await sql`select pg_advisory_xact_lock(${lockSpace}::integer, hashtext(${owner}))`.execute(tx)
}
