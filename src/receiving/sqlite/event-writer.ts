// Tasks of the thread that stores received events on SQLite.
import { finish, tryBegin } from '../../storage/sqlite/begin.ts'
import { SqliteConnection } from '../../storage/sqlite/connection.ts'
import type { PackedRows } from '../../storage/sqlite/packed-rows.ts'
import { unpackEvents } from '../event-rows.ts'
import type { IncomingEvent } from '../incoming.ts'
import { insertEvents } from './insert-events.ts'
import { SpoolFile } from './spool-file.ts'

/** Spooled events that one transaction moves: a few milliseconds of the write lock. */
const step = 500

/**
 * Stores received events in the database if this process may write to it, else in the spool beside it. Spooled events are moved in
 * their order and before any later one. A crash between the move and the deletion in the spool moves them again, which the key
 * of the event queue ignores.
 */
export function open({ file }: { file: string }) {
  const connection = new SqliteConnection(file)
  const spool = new SpoolFile(`${file}-spool`)

  /** False if another process holds the write lock. */
  function moveAndInsert(later: readonly IncomingEvent[]): boolean {
    if (!tryBegin(connection)) return false
    const spooled = spool.oldest(step)
    finish(connection, () => {
      insertEvents(connection, spooled)
      insertEvents(connection, later)
    })
    spool.forget(spooled)
    return true
  }

  return {
    /**
     * Stores events. `stored` is false if they would have to be spooled and the spool is full.
     * @param mayWrite whether this process has the right to write; another process may hold the lock all the same
     */
    insert({ rows, mayWrite }: { rows: PackedRows; mayWrite: boolean }) {
      const events = unpackEvents(rows)
      const stored = (mayWrite && spool.count <= step && moveAndInsert(events)) || spool.add(events)
      return { stored, spooled: spool.count }
    },
    /** Moves the oldest spooled events. `moved` is false if another process holds the write lock. */
    move() {
      const moved = moveAndInsert([])
      return { moved, spooled: spool.count }
    },
    /** Returns the number of spooled events. */
    count: () => spool.count,
    close() {
      connection.close()
      spool.close()
    },
  }
}

export type EventTasks = ReturnType<typeof open>
