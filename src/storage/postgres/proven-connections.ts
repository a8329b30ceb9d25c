import type { Pool, PoolClient } from 'pg'
import { bounded } from './bounded-query.ts'

/** Milliseconds for which a connection that was used is taken to live. */
const believedFor = 2_000
/** Milliseconds that it has to prove that it does. */
const provenWithin = 2_000

/**
 * Connections of a pool, of which those that were idle for a while are asked for an answer first. Their statements may take as long as
 * a handler may: on a path that went silent meanwhile, the first one would hold its handler up until its time is over.
 */
export function provenConnections(pool: Pool): { connect(): Promise<PoolClient> } {
  const usedAt = new WeakMap<PoolClient, number>()
  pool.on('release', (_error, client) => usedAt.set(client, performance.now()))

  async function connect(): Promise<PoolClient> {
    for (;;) {
      const client = await pool.connect()
      const at = usedAt.get(client)
      if (at === undefined || performance.now() - at < believedFor || (await lives(client))) return client
      client.release(true)
    }
  }
  return { connect }
}

async function lives(client: PoolClient): Promise<boolean> {
  try {
    await client.query(bounded(provenWithin, 'select 1'))
    return true
  } catch {
    // It is closed, and the pool opens another one in its place.
    return false
  }
}
