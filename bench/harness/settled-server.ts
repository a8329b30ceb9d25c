import pg from 'pg'

/** Segments (of 16 MiB) of the log that are made: about what a checkpoint leaves with the server's `max_wal_size` of 2 GB. */
const segments = 100

/**
 * Puts a new server into the state of one that has worked for a while, which writes into segments of its log that it has
 * had before. A new one makes each segment anew, for which all commits wait.
 * https://www.postgresql.org/docs/current/wal-configuration.html
 */
export async function settle(server: string): Promise<void> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    for (let segment = 0; segment < segments; segment += 1) {
      // An empty one would not be left.
      await client.query(`select pg_logical_emit_message(false, 'bench', 'a segment')`)
      await client.query('select pg_switch_wal()')
    }
    await client.query('checkpoint')
  } finally {
    await client.end()
  }
}
