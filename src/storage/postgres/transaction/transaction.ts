import type { Pool, PoolClient } from 'pg'
// A type only: loading the class would load the driver, which migrations of SQLite do not need.
import type { SessionClient } from '../driver/session-client.ts'

/** A rollback undoes the settings and the temporary tables of its transaction, but not its session's locks. */
export const releaseLocks = 'select pg_advisory_unlock_all()'

/**
 * The statements that end what the user's code changed in its session. As DISCARD ALL, without the plans and statements that the service
 * prepared, and within the transaction: behind a pooler, the session of the next one may be another.
 */
export function sessionReset(client: PoolClient): string[] {
  const { settings = [] } = client as Partial<Pick<SessionClient, 'settings'>>
  return [
    'set session authorization default',
    'reset role',
    'reset all',
    'close all',
    'discard temp',
    'unlisten *',
    releaseLocks,
    ...settings,
  ]
}

/** Runs `work` in a transaction on a connection of the pool, without the limits and the retries of `Database.transaction`. */
export async function poolTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    client.release()
    return result
  } catch (error) {
    // Closing the connection makes the server roll back.
    client.release(true)
    throw error
  }
}
