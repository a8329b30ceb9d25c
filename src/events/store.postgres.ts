import type { PostgresDatabase } from '../storage/database.ts'
import { poolRows } from '../storage/postgres/pool/pool-rows.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import { columns, type EventRow, type EventStore } from './store.ts'

const page = `select ${columns} from events e where e.id > $1 and e.id <= $2 order by e.id limit $3`
const pageDown = `select ${columns} from events e where e.id < $1 and e.id <= $2 order by e.id desc limit $3`
const some = `select ${columns} from events e where e.id = any($1::bigint[]) order by e.id`

/** PostgreSQL gives out numbers before the commit. events_horizon() returns the number up to which all events are visible. */
export function postgresEvents({ pool }: PostgresDatabase): EventStore {
  const events = (name: string, text: string, values: unknown[]): Promise<EventRow[]> =>
    poolRows<EventRow>(pool, { name, text, values })
  return {
    read: (after, upTo, limit) => events('events_page', page, [after, upTo, limit]),
    readDown: (before, upTo, limit) => events('events_page_down', pageDown, [before, upTo, limit]),
    some: (ids) => events('events_some', some, [ids]),
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
