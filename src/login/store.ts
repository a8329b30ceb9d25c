import type { Database } from '../storage/database.ts'
import type { FlowsTable } from '../storage/tables.ts'

/** Keeps a begun sign-in. */
export async function insertFlow(database: Database, flow: FlowsTable): Promise<void> {
  await database.single((db) => db.insertInto('flows').values(flow).execute())
}

export interface FlowKey {
  stateHash: Uint8Array
  browserHash: Uint8Array
  provider: string
}

/**
 * Takes a begun sign-in out, in one statement: of many callbacks with one state one gets it. A callback from another
 * browser or for another provider takes nothing, so that nobody can spend the sign-in of somebody else.
 */
export async function takeFlow(
  database: Database,
  key: FlowKey,
  now: number,
): Promise<FlowsTable | undefined> {
  return database.single((db) =>
    db
      .deleteFrom('flows')
      .where('state_hash', '=', key.stateHash)
      .where('browser_hash', '=', key.browserHash)
      .where('provider', '=', key.provider)
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst(),
  )
}

export async function sweepFlows(database: Database, now: number): Promise<void> {
  await database.transaction((tx) => tx.deleteFrom('flows').where('expires_at', '<=', now).execute(), {
    lane: 'work',
  })
}
