import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'

/** How precise `last_seen_at` is, in milliseconds: at most one write per session in this time. */
const resolution = 60_000
/** Sessions in one statement. */
const atOnce = 500

/**
 * Writes down when sessions were last used. Nobody waits for it: those of the same moment go into one transaction, and
 * one that could not be written comes again with the next use.
 */
export class SeenTimes {
  readonly #database: Database
  readonly #log: Log
  #waiting = new Map<string, number>()
  #writing = false

  constructor(database: Database, log: Log) {
    this.#database = database
    this.#log = log
  }

  note(session: { id: string; lastSeenAt: number }, now: number): void {
    if (session.lastSeenAt > now - resolution) return
    // What is kept in memory knows it at once, so that it is asked for once.
    session.lastSeenAt = now
    this.#waiting.set(session.id, now)
    if (!this.#writing) void this.#write()
  }

  async #write(): Promise<void> {
    this.#writing = true
    try {
      while (this.#waiting.size > 0) {
        const noted = this.#waiting
        this.#waiting = new Map()
        const now = Math.max(...noted.values())
        const ids = [...noted.keys()]
        for (let from = 0; from < ids.length; from += atOnce) {
          await this.#database.transaction(
            (tx) =>
              tx
                .updateTable('sessions')
                .set({ last_seen_at: now })
                .where('id', 'in', ids.slice(from, from + atOnce))
                // Another process may have written it meanwhile.
                .where('last_seen_at', '<=', now - resolution)
                .execute(),
            { lane: 'work' },
          )
        }
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'could not note the use of sessions')
    } finally {
      this.#writing = false
    }
  }
}
