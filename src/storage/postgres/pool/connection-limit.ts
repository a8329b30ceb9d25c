import { isWithoutRoom } from '../../unavailable.ts'

/** Milliseconds between two notices. */
const noticeEvery = 60_000

/** Reports that the server has no room for another connection, at most once a minute. */
export class ConnectionLimitNotice {
  readonly #notify: (notice: string) => void
  readonly #connections: number
  #notifiedAt = Number.NEGATIVE_INFINITY

  /** @param connections that this process may have at most */
  constructor(connections: number, notify: (notice: string) => void) {
    this.#connections = connections
    this.#notify = notify
  }

  /** Returns whether this is such an error. */
  report(error: Error): boolean {
    if (!isWithoutRoom(error)) return false
    const now = performance.now()
    if (now - this.#notifiedAt >= noticeEvery) {
      this.#notifiedAt = now
      this.#notify(
        `PostgreSQL has no free connection slot (${error.message}). ${adviceWithoutRoom} This process can use up to ${this.#connections}; it continues with the ones that it has, and tries again for more.`,
      )
    }
    return true
  }
}

export const adviceWithoutRoom =
  'Lower DATABASE_CONNECTIONS or the number of processes, or raise max_connections of the server (or the limit of the role or the database).'
