import type { Database, PostgresDatabase, SqliteDatabase } from '../storage/database.ts'
import { columns, type EventRow, type EventStore, pageLimits } from './store.ts'
import { poolRows } from '../storage/postgres/pool/connection-shares.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'

export interface EventPage {
  rows: EventRow[]
  hasNext: boolean
}

/**
 * The log in the order of its numbers, for readers that follow it. A page never contains a number above the horizon, and below the
 * horizon no event can appear later. So a reader that continues behind its last number misses no event, whatever the number of
 * concurrent writers.
 */
export class EventLog {
  readonly #store: EventStore
  /** The highest horizon so far. It only rises until the database is restored, so pages below it need no new one. */
  #known = 0

  constructor(store: EventStore) {
    this.#store = store
  }

  async page(after: number, limit: number): Promise<EventPage> {
    let rows = after < this.#known ? await this.#store.read(after, this.#known, limit + 1) : []
    if (rows.length <= limit) {
      // Reads the horizon in a statement before the rows, so that the rows are of a later snapshot.
      await this.horizon()
      if (after < this.#known) rows = await this.#store.read(after, this.#known, limit + 1)
    }
    return pageOf(rows, limit)
  }

  /** The number up to which no further event can appear. Rows that are read afterwards are of a later snapshot. */
  async horizon(): Promise<number> {
    const horizon = await this.#store.horizon()
    return (this.#known = Math.max(this.#known, horizon))
  }

  /** The newest events below `before`, in descending order. A reader that then follows the log from the first one misses none. */
  async newest(before: number, limit: number): Promise<EventPage> {
    const horizon = await this.horizon()
    return pageOf(await this.#store.readDown(before, horizon, limit + 1), limit)
  }

  /** The events with these numbers that are still in the log, in ascending order. */
  some(ids: readonly number[]): Promise<EventRow[]> {
    return ids.length === 0 ? Promise.resolve([]) : this.#store.some(ids)
  }

  /** The database was restored to an earlier state. */
  setBack(): void {
    this.#known = 0
  }
}

function pageOf(rows: EventRow[], limit: number): EventPage {
  return { rows: rows.slice(0, limit), hasNext: rows.length > limit }
}

export function openEventLog(database: Database): EventLog {
  const log = new EventLog(database.engine === 'sqlite' ? sqliteEvents(database) : postgresEvents(database))
  database.onSetBack(() => log.setBack())
  return log
}

const page = `select ${columns} from events e where e.id > ? and e.id <= ? order by e.id limit ?`
const pageDown = `select ${columns} from events e where e.id < ? and e.id <= ? order by e.id desc limit ?`
const some = `select ${columns} from events e where e.id in (select value from json_each(?)) order by e.id`

/** SQLite has one writer at a time, so events become visible in the order of their numbers. */
function sqliteEvents({ readConnection }: SqliteDatabase): EventStore {
  return {
    read: async (after, upTo, limit) => readConnection.all<EventRow>(page, [after, upTo, limit]),
    readDown: async (before, upTo, limit) => readConnection.all<EventRow>(pageDown, [before, upTo, limit]),
    some: async (ids) => readConnection.all<EventRow>(some, [JSON.stringify(ids)]),
    horizon: () => Promise.resolve(Number.MAX_SAFE_INTEGER),
  }
}

const ascendingPage = `select ${columns} from events e where e.id > $1 and e.id <= $2 order by e.id`
const descendingPage = `select ${columns} from events e where e.id < $1 and e.id <= $2 order by e.id desc`
const someEvents = `select ${columns} from events e where e.id = any($1::bigint[]) order by e.id`

/**
 * The rows that a page reads: one more than the default size of a page, and than the largest. They are part of the statement, because
 * PostgreSQL assumes that a LIMIT by a parameter returns a tenth of the rows, finds the plan for all values too expensive, and plans the
 * statement again for each page: 0.7 ms instead of 0.2 (docs/adr/0013). They are few, because each connection keeps a plan for each
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
    read: (after, upTo, limit) => readPage('events_page', ascendingPage, after, upTo, limit),
    readDown: (before, upTo, limit) => readPage('events_page_down', descendingPage, before, upTo, limit),
    some: (ids) => poolRows<EventRow>(pool, { name: 'events_some', text: someEvents, values: [ids] }),
    async horizon() {
      const [row] = await poolRows<{ horizon: number | null }>(pool, {
        name: 'events_horizon',
        text: 'select events_horizon() as horizon where not pg_is_in_recovery()',
      })
      // A standby may lag behind, and does not know the open transactions of the primary.
      if (!row) throw new StorageUnavailable('the server is a standby, which does not know what is committed')
      return row.horizon ?? 0
    },
  }
}
