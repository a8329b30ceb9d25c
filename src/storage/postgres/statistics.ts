import type { Pool } from 'pg'
import { bounded } from './driver/statement.ts'

/** Tables that grow by the work of the service, and by which its statements look for what is due. */
const tables = [
  'attempts',
  'deliveries',
  'events',
  'event_queue',
  'idempotency_keys',
  'subscribers',
  'users',
] as const

/** Milliseconds that the look at one table may take. */
const longestLook = 600_000

/** Changed rows from which on it matters. */
const few = 1_000

/** The function and not the view: the view reads all figures of each table, and every process asks every two seconds. */
const changedTables = `
  select c.relname as name from unnest($1::text[]) as t join pg_class c on c.oid = to_regclass(t)
  where pg_stat_get_mod_since_analyze(c.oid) > greatest(c.reltuples, ${few}) and pg_has_role(c.relowner, 'usage')
  order by c.relname`

/**
 * Has PostgreSQL look anew at tables of which as much was changed as there was when it last did, and returns their names. A
 * statement that is prepared keeps its plan until then: what was planned over an almost empty table reads all of it, for every
 * batch, however long it has become. What looks for due deliveries and reads them ahead needs none of this (`seeks`).
 * Autovacuum comes by once a minute. One table at a time; none that is being looked at (`skip_locked`), and none that
 * is somebody else's, which the server would refuse with a warning each time.
 */
export async function analyzeChanged(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>({
    name: 'changed_tables',
    text: changedTables,
    values: [tables],
  })
  for (const { name } of rows) {
    // One round trip; the bound of ordinary statements is for less.
    const text = `begin; set local statement_timeout = ${longestLook}; analyze (skip_locked) "${name}"; commit`
    await pool.query(bounded(longestLook, text))
  }
  return rows.map(({ name }) => name)
}
