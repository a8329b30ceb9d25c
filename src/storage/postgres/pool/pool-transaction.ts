import type { Pool, PoolClient } from 'pg'

/** Runs `work` in a transaction on a connection of the pool, without the limits and the retries of `Database.transaction`. */
export async function poolTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  begin: (client: PoolClient) => Promise<unknown> = (client) => client.query('begin'),
): Promise<T> {
  const client = await pool.connect()
  try {
    await begin(client)
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
