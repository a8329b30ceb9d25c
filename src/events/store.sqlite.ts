import type { SqliteDatabase } from '../storage/database.ts'
import { columns, type EventRow, type EventStore } from './store.ts'

const page = `select ${columns} from events e where e.id > ? and e.id <= ? order by e.id limit ?`
const pageDown = `select ${columns} from events e where e.id < ? and e.id <= ? order by e.id desc limit ?`
const some = `select ${columns} from events e where e.id in (select value from json_each(?)) order by e.id`

/** SQLite has one writer at a time, so events become visible in the order of their numbers. */
export function sqliteEvents({ readConnection }: SqliteDatabase): EventStore {
  return {
    read: async (after, upTo, limit) => readConnection.all<EventRow>(page, [after, upTo, limit]),
    readDown: async (before, upTo, limit) => readConnection.all<EventRow>(pageDown, [before, upTo, limit]),
    some: async (ids) => readConnection.all<EventRow>(some, [JSON.stringify(ids)]),
    horizon: () => Promise.resolve(Number.MAX_SAFE_INTEGER),
  }
}
