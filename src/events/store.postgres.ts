import type { PostgresDatabase } from '../storage/database.ts'
import { poolRows } from '../storage/postgres/pool/pool-rows.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import { columns, pageLimits, type EventRow, type EventStore } from './store.ts'

const page = `select ${columns} from events e where e.id > $1 and e.id <= $2 order by e.id`
const pageDown = `select ${columns} from events e where e.id < $1 and e.id <= $2 order by e.id desc`
const some = `select ${columns} from events e where e.id = any($1::bigint[]) order by e.id`

/**
 * The rows that a page reads: one more than the default size of a page, and than the largest. They are part of the statement, because
 * PostgreSQL assumes that a LIMIT by a parameter returns a tenth of the rows, finds the plan for all values too expensive, and plans the
 * statement anew for each page: 0.7 ms instead of 0.2 (docs/adr/0051). They are few, because each connection keeps a plan for each
 * (https://www.postgresql.org/docs/current/sql-prepare.html#SQL-PREPARE-NOTES).
 */
const sizes = [pageLimits.default + 1, pageLimits.max + 1]

/** PostgreSQL gives out numbers before the commit. events_horizon() returns the number up to which all events are visible. */
export function postgresEvents({ pool }: Pick<PostgresDatabase, 'pool'>): EventStore {
  const readPage = async (name: string, text: string, from: number, upTo: number, limit: number) => {
    const size = sizes.find((one) => one >= limit) ?? limit
    const statement = { name: `${name}_${size}`, text: `${text} limit ${size}`, values: [from, upTo] }
    const rows = await poolRows<EventRow>(pool, statement)
    return rows.slice(0, limit)
  }
  return {
    read: (after, upTo, limit) => readPage('events_page', page, after, upTo, limit),
    readDown: (before, upTo, limit) => readPage('events_page_down', pageDown, before, upTo, limit),
    some: (ids) => poolRows<EventRow>(pool, { name: 'events_some', text: some, values: [ids] }),
    async horizon() {
      const [row] = await poolRows<{ horizon: number | null }>(pool, {
        name: 'events_horizon',
        text: 'select events_horizon() as horizon where not pg_is_in_recovery()',
      })
      // A standby may lag behind, and does not know the open transactions of the primary.
      if (!row)
        throw new StorageUnavailable(
          new Error('the server is a standby, which does not know what is committed'),
        )
      return row.horizon ?? 0
    },
  }
}
