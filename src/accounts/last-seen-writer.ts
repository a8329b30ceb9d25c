import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'

/** Resolution of `last_seen_at` in milliseconds: one write per session in this time at most. */
const resolution = 60_000
/** Sessions in one statement. */
const batchSize = 500

/**
 * Writes `last_seen_at` of sessions in the background, in batches. A failed write is not repeated: the next use of the
 * session writes it.
 */
export class LastSeenWriter {
  readonly #database: Database
  readonly #log: Log
  #pending = new Map<string, number>()
  #writing = false

  constructor(database: Database, log: Log) {
    this.#database = database
    this.#log = log
  }

  update(session: { id: string; lastSeenAt: number }, now: number): void {
    if (session.lastSeenAt > now - resolution) return
    // The cached session changes at once, so that further requests do not write it again.
    session.lastSeenAt = now
    this.#pending.set(session.id, now)
    if (!this.#writing) void this.#write()
  }

  async #write(): Promise<void> {
    this.#writing = true
    try {
      while (this.#pending.size > 0) {
        const pending = this.#pending
        this.#pending = new Map()
        const now = Math.max(...pending.values())
        const ids = [...pending.keys()]
        for (let from = 0; from < ids.length; from += batchSize) {
          await this.#database.transaction(
            (tx) =>
              tx
                .updateTable('sessions')
                .set({ last_seen_at: now })
                .where('id', 'in', ids.slice(from, from + batchSize))
                // Another process may have written it already.
                .where('last_seen_at', '<=', now - resolution)
                .execute(),
            { priority: 'work' },
          )
        }
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'could not write when sessions were last used')
    } finally {
      this.#writing = false
    }
  }
}
