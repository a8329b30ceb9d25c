import { finish, tryBegin } from '../../storage/sqlite/begin.ts'
import { SqliteConnection } from '../../storage/sqlite/connection.ts'
import type { IncomingEvent } from '../incoming.ts'
import { insertEvents } from './insert-events.ts'
import { SpoolFile } from './spool-file.ts'

/** Spooled events that one transaction moves: a few milliseconds of the write lock. */
const step = 500

/**
 * Stores received events: into the database when the right to write is ours, else into the spool, from where they are
 * moved in their order and before any later one. A crash between the move and the deletion in the spool moves them
 * again, and the key of the event queue makes that nothing.
 */
export class EventWriter {
  readonly #connection: SqliteConnection
  readonly #spool: SpoolFile

  /** @param file the database; the spool lies beside it. */
  constructor(file: string) {
    this.#connection = new SqliteConnection(file)
    this.#spool = new SpoolFile(`${file}-spool`)
  }

  /** Events that lie in the spool. */
  get spooled(): number {
    return this.#spool.count
  }

  /**
   * @param mayWrite whether this process leaves the database to us now; another process may hold its lock all the same.
   * @throws Problem `overloaded`; StorageUnavailable.
   */
  insert(events: readonly IncomingEvent[], mayWrite: boolean): void {
    if (!mayWrite || this.#spool.count > step || !this.#moveAndInsert(events)) this.#spool.add(events)
  }

  /** Moves the oldest spooled events; false when another process holds the write lock. */
  move(): boolean {
    return this.#moveAndInsert([])
  }

  close(): void {
    this.#connection.close()
    this.#spool.close()
  }

  #moveAndInsert(later: readonly IncomingEvent[]): boolean {
    if (!tryBegin(this.#connection)) return false
    const spooled = this.#spool.oldest(step)
    finish(this.#connection, () => {
      insertEvents(this.#connection, spooled)
      insertEvents(this.#connection, later)
    })
    this.#spool.forget(spooled)
    return true
  }
}
