import type { Database } from '../../storage/database.ts'
import type { FlowsTable } from '../../storage/tables.ts'

export async function insertFlow(database: Database, flow: FlowsTable): Promise<void> {
  await database.single((db) => db.insertInto('flows').values(flow).execute())
}

export interface FlowKey {
  stateHash: Uint8Array
  browserHashes: readonly Uint8Array[]
  provider: string
}

/**
 * Uses a state: deletes its row and gives it, in one statement, so that only one of many callbacks with the same state
 * gets it. A callback from another browser or for another provider deletes nothing: it cannot use up a foreign sign-in.
 */
export async function consumeFlow(
  database: Database,
  key: FlowKey,
  now: number,
): Promise<FlowsTable | undefined> {
  return database.single((db) =>
    db
      .deleteFrom('flows')
      .where('state_hash', '=', key.stateHash)
      .where('browser_hash', 'in', key.browserHashes)
      .where('provider', '=', key.provider)
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst(),
  )
}
