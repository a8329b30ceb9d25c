import { BoundedCache } from '../../runtime/bounded-cache.ts'
import { RepeatedPass } from '../../runtime/repeated-pass.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'

/** Resolution of `last_seen_at` in milliseconds, unless sessions end soon: one write per session and user in this time at most. */
const longestResolution = 60_000
/** Rows in one statement. */
const batchSize = 500

/**
 * Writes `last_seen_at` of sessions and users in the background, in batches. A failed write is not repeated: the next use
 * writes it.
 */
export class LastSeenWriter {
  readonly #database: Database
  readonly #log: Log
  readonly #resolution: number
  #sessions = new Map<string, number>()
  #users = new Map<string, number>()
  /** Users that this process has noted lately: apps may refresh their tokens often. */
  readonly #noted = new BoundedCache<string, number>(10_000)
  readonly #writes = new RepeatedPass(() => this.#write())

  /** @param idle milliseconds without use after which a session expires: each use has to be noted well before */
  constructor(database: Database, log: Log, idle: number) {
    this.#database = database
    this.#log = log
    this.#resolution = Math.min(longestResolution, idle / 10)
  }

  update(
    session: { id: string; userId: string; lastSeenAt: number; impersonatorId: string | null },
    now: number,
  ): void {
    if (session.lastSeenAt > now - this.#resolution) return
    // The cached session changes at once, so that further requests do not write it again.
    session.lastSeenAt = now
    this.#sessions.set(session.id, now)
    // An admin who acts for a user is not that user.
    if (session.impersonatorId === null) this.updateUser(session.userId, now)
    this.#writes.request()
  }

  /** Notes a sign-in of a user, or the use of a token. */
  updateUser(userId: string, now: number): void {
    if ((this.#noted.get(userId) ?? 0) > now - this.#resolution) return
    this.#noted.set(userId, now)
    this.#users.set(userId, now)
    this.#writes.request()
  }

  async #write(): Promise<void> {
    const pending = { sessions: this.#sessions, users: this.#users }
    this.#sessions = new Map()
    this.#users = new Map()
    try {
      for (const table of ['sessions', 'users'] as const) await this.#writeTable(table, pending[table])
    } catch (error) {
      this.#log.warn({ err: error }, 'the last use of sessions could not be recorded')
    }
  }

  async #writeTable(table: 'sessions' | 'users', pending: ReadonlyMap<string, number>): Promise<void> {
    const now = Math.max(...pending.values())
    // In one order, so that two processes do not wait for each other's rows in turn.
    const ids = [...pending.keys()].toSorted()
    for (let from = 0; from < ids.length; from += batchSize) {
      await this.#database.inBackground((tx) =>
        tx
          // The columns that are used are the same in both tables.
          .updateTable(table as 'users')
          .set({ last_seen_at: now })
          .where('id', 'in', ids.slice(from, from + batchSize))
          // Another process may have written it already.
          .where('last_seen_at', '<=', now - this.#resolution)
          .execute(),
      )
    }
  }
}
