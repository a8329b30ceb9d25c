import type { Pool, PoolClient } from 'pg'
import { bounded } from '../driver/statement.ts'

/** Milliseconds after its last use for which a connection counts as live. */
const liveFor = 2_000
/** Milliseconds that a connection has to answer. */
const answerWithin = 2_000

/**
 * Connections of a pool; those that were idle for a while are tested first. The statements of a handler have a long limit: if the
 * network path became silent meanwhile, the first statement would wait for all of it.
 */
export function liveConnections(pool: Pool): { connect(): Promise<PoolClient> } {
  const usedAt = new WeakMap<PoolClient, number>()
  pool.on('release', (_error, client) => usedAt.set(client, performance.now()))

  async function connect(): Promise<PoolClient> {
    for (;;) {
      const client = await pool.connect()
      const at = usedAt.get(client)
      if (at === undefined || performance.now() - at < liveFor || (await answers(client))) return client
      client.release(true)
    }
  }
  return { connect }
}

async function answers(client: PoolClient): Promise<boolean> {
  try {
    await client.query(bounded(answerWithin, 'select 1'))
    return true
  } catch {
    return false
  }
}
