// The thread that stores received events on SQLite.
import { workerData } from 'node:worker_threads'
import { finish, tryBegin, SqliteConnection } from '../../storage/sqlite/connection.ts'
import type { OpenFile } from '../../storage/sqlite/files.ts'
import { serveTasks } from '../../storage/sqlite/thread-server.ts'
import { type EventKey, type IncomingEvent, type PackedEvents, unpackEvents } from '../queue/store.ts'
import { isRefusedValue, StorageUnavailable } from '../../storage/unavailable.ts'
import { insertEvents } from './insert-events.ts'
import { spoolBeside, type Spooled, SpoolFile } from './spool-file.ts'

/** Spooled events that one transaction moves: a few milliseconds of the write lock. */
const step = 500

const opened = workerData as OpenFile
const connection = new SqliteConnection(opened)
const spoolFile = spoolBeside(opened.file)
/** Opened at its first use, because it may be damaged: then this thread continues, and tries again when it is next used. */
let spool: SpoolFile | undefined

/** Why the database refused spooled events. Each reason is returned once. */
let refusals: string[] = []
/** The events that were known already. */
let duplicates: EventKey[] = []

/** Uses the spool. @throws StorageUnavailable that names its file, with the code of SQLite, for all errors */
function ofSpool<T>(use: (spool: SpoolFile) => T): T {
  try {
    return use((spool ??= new SpoolFile(spoolFile)))
  } catch (error) {
    const cause = error instanceof StorageUnavailable ? error.cause : error
    const { message = String(cause), errcode } = cause as { message?: string; errcode?: number }
    const named = new Error(
      `the spool ${spoolFile} cannot be used, and webhooks get 503 until it can: ${message}`,
    )
    throw new StorageUnavailable(Object.assign(named, { errcode }))
  }
}

/** What `moveAndInsert` did: nothing because another process holds the write lock, only the move, or all. */
type Outcome = 'locked' | 'moved' | 'stored'

/**
 * Moves the oldest spooled events into the database, and inserts later ones if these were all. A crash before their deletion in the
 * spool moves them again, which the key of the event queue ignores.
 */
function moveAndInsert(later: readonly IncomingEvent[]): Outcome {
  // Before the transaction: a failed read must not leave the write lock held.
  const spooled = readOldest()
  // A read is limited by bytes, too. Later events must not overtake what it left.
  const isAll = spooled.length === count()
  if (!tryBegin(connection)) return 'locked'
  let known: EventKey[] = []
  try {
    finish(connection, () => {
      known = insertEvents(connection, spooled)
      if (isAll) known.push(...insertEvents(connection, later))
    })
    duplicates.push(...known)
  } catch (error) {
    if (spooled.length === 0 || !isRefusedValue(error)) throw error
    return moveSingly(spooled) ? moveAndInsert(later) : 'locked'
  }
  ofSpool((opened) => opened.forget(spooled.map(({ seq }) => seq)))
  return isAll ? 'stored' : 'moved'
}

/** Sets spooled events aside that the database refuses: they must not hold up the others. Other errors may pass: the events stay. */
function moveSingly(spooled: readonly Spooled[]): boolean {
  for (const event of spooled) {
    if (!tryBegin(connection)) return false
    try {
      finish(connection, () => duplicates.push(...insertEvents(connection, [event])))
    } catch (error) {
      if (!isRefusedValue(error)) throw error
      const reason = String(error)
      ofSpool((opened) => opened.setAside(event.seq, reason))
      refusals.push(`${event.source} ${event.eventId}: ${reason}`)
    }
    ofSpool((opened) => opened.forget([event.seq]))
  }
  return true
}

const readOldest = (): Spooled[] => ofSpool((opened) => opened.oldest(step))
const count = (): number => ofSpool((opened) => opened.count)

function answer<T>(result: T): T & { spooled: number; refusals: string[]; duplicates: EventKey[] } {
  const reported = { refusals, duplicates }
  refusals = []
  duplicates = []
  return { ...result, spooled: count(), ...reported }
}

const tasks = {
  /**
   * Stores events in the database if this process may write to it, else in the spool beside it. `stored` is false if the spool is full.
   * @param mayWrite whether this process has the right to write; another process may hold the lock all the same
   */
  insert({ rows, mayWrite }: { rows: PackedEvents; mayWrite: boolean }) {
    const events = unpackEvents(rows)
    const isStored = mayWrite && count() <= step && moveAndInsert(events) === 'stored'
    const stored = isStored || ofSpool((opened) => opened.add(events))
    return answer({ stored })
  },
  /** Moves the oldest spooled events. `moved` is false if another process holds the write lock. */
  move() {
    return answer({ moved: moveAndInsert([]) !== 'locked' })
  },
  /** Reads the spool as a move does. Returns the number of spooled events. */
  checkSpool(): number {
    readOldest()
    return count()
  },
  close() {
    connection.close()
    spool?.close()
  },
}

export type EventTasks = typeof tasks

serveTasks(tasks)
