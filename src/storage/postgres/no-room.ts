import { isWithoutRoom } from '../unavailable.ts'

/** Milliseconds between two notices, while it lasts. */
const noticeEvery = 60_000

/** Tells that the server has no room for another connection, once in a while instead of for each that is refused. */
export class NoRoom {
  readonly #tell: (notice: string) => void
  readonly #connections: number
  #toldAt = Number.NEGATIVE_INFINITY

  /** @param connections that this process may have at most */
  constructor(connections: number, tell: (notice: string) => void) {
    this.#connections = connections
    this.#tell = tell
  }

  /** Whether an error says so; then it is told of by the notice. */
  notes(error: Error): boolean {
    if (!isWithoutRoom(error)) return false
    const now = performance.now()
    if (now - this.#toldAt >= noticeEvery) {
      this.#toldAt = now
      this.#tell(
        `PostgreSQL has no room for another connection (${error.message}). ${adviceWithoutRoom} This process may have ${this.#connections}; it goes on with those that it has, and asks for more again.`,
      )
    }
    return true
  }
}

export const adviceWithoutRoom =
  'Lower DATABASE_CONNECTIONS or the number of processes, or raise max_connections of the server (or the limit of the role or the database).'
