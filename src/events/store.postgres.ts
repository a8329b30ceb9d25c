import type { QueryResultRow } from 'pg'
import type { PostgresDatabase } from '../storage/database.ts'
import { StorageUnavailable, translateError } from '../storage/unavailable.ts'
import { columns, type EventRow, type EventStore } from './store.ts'

const page = `select ${columns} from events e where e.id > $1 and e.id <= $2 order by e.id limit $3`
const pageDown = `select ${columns} from events e where e.id < $1 and e.id <= $2 order by e.id desc limit $3`
const some = `select ${columns} from events e where e.id = any($1::bigint[]) order by e.id`

/** PostgreSQL gives out numbers before the commit. events_horizon() returns the number up to which all events are visible. */
export function postgresEvents({ pool }: PostgresDatabase): EventStore {
  async function query<Row extends QueryResultRow>(
    name: string,
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    try {
      return (await pool.query<Row>({ name, text, values })).rows
    } catch (error) {
      throw translateError(error)
    }
  }
  return {
    read: (after, upTo, limit) => query<EventRow & QueryResultRow>('events_page', page, [after, upTo, limit]),
    readDown: (before, upTo, limit) =>
      query<EventRow & QueryResultRow>('events_page_down', pageDown, [before, upTo, limit]),
    some: (ids) => query<EventRow & QueryResultRow>('events_some', some, [ids]),
    async horizon() {
      const [row] = await query<{ horizon: number | null }>(
        'events_horizon',
        'select events_horizon() as horizon where not pg_is_in_recovery()',
      )
      // A standby may lag behind, and does not know the open transactions of the primary.
      if (!row)
        throw new StorageUnavailable(
          new Error('the server is a standby, which does not know what is committed'),
        )
      return row.horizon ?? 0
    },
  }
}
