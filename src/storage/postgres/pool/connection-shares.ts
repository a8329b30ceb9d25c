import { isWithoutRoom, translated } from '../../unavailable.ts'
import type { Pool, QueryConfig, QueryResultRow } from 'pg'

interface Waiter {
  readonly share: string
  readonly enter: () => void
}

/**
 * Divides a limited number of connections among shares, in the order of requests. When a third is left, only shares without a
 * connection get one, so that a share with long transactions never takes all. One connection is reserved for the favoured share,
 * whose transactions are short.
 */
export class ConnectionShares {
  readonly #most: number
  readonly #scarceFrom: number
  readonly #favoured: string | undefined
  readonly #held = new Map<string, number>()
  readonly #waiting: Waiter[] = []
  #used = 0

  /** @param favoured the share for which one of several connections is reserved */
  constructor(most: number, favoured?: string) {
    this.#most = most
    this.#favoured = most > 1 ? favoured : undefined
    this.#scarceFrom = Math.ceil(((this.#favoured === undefined ? most : most - 1) * 2) / 3)
  }

  /** Resolves with the function that returns the connection. @throws the signal's reason if it is aborted first */
  enter(share: string, signal: AbortSignal): Promise<() => void> {
    if (this.#mayEnter(share)) return Promise.resolve(this.#acquire(share))
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        reject(signal.reason as Error)
      }
      const waiter: Waiter = {
        share,
        enter: () => {
          signal.removeEventListener('abort', stopWaiting)
          resolve(this.#acquire(share))
        },
      }
      signal.addEventListener('abort', stopWaiting, { once: true })
      this.#waiting.push(waiter)
    })
  }

  #mayEnter(share: string): boolean {
    if (share === this.#favoured) return this.#used < this.#most
    const favoured = this.#favoured === undefined ? 0 : (this.#held.get(this.#favoured) ?? 0)
    const reserved = this.#favoured !== undefined && favoured === 0 ? 1 : 0
    if (this.#used + reserved >= this.#most) return false
    return !this.#held.has(share) || this.#used - favoured < this.#scarceFrom
  }

  #acquire(share: string): () => void {
    this.#used += 1
    this.#held.set(share, (this.#held.get(share) ?? 0) + 1)
    let left = false
    return () => {
      if (left) return
      left = true
      this.#used -= 1
      const others = this.#held.get(share)! - 1
      if (others === 0) this.#held.delete(share)
      else this.#held.set(share, others)
      const next = this.#waiting.findIndex((waiter) => this.#mayEnter(waiter.share))
      if (next >= 0) this.#waiting.splice(next, 1)[0]!.enter()
    }
  }
}

/** Runs a statement of its own on a pool and returns the rows. @throws StorageUnavailable */
export async function poolRows<Row>(pool: Pool, statement: QueryConfig): Promise<Row[]> {
  return (await translated(pool.query<Row & QueryResultRow>(statement))).rows
}

/** Milliseconds between two notices. */
const noticeEvery = 60_000

/**
 * Returns a function that reports, at most once a minute, that the server has no room for another connection. The function returns
 * whether an error says this.
 * @param connections that this process may have at most
 */
export function connectionLimitNotice(
  connections: number,
  notify: ((notice: string) => void) | undefined,
): (error: Error) => boolean {
  let notifiedAt = Number.NEGATIVE_INFINITY
  return (error) => {
    if (!isWithoutRoom(error)) return false
    const now = performance.now()
    if (now - notifiedAt >= noticeEvery) {
      notifiedAt = now
      notify?.(
        `PostgreSQL has no free connection slot (${error.message}). ${adviceWithoutRoom} This process can use up to ${connections}; it continues with the ones that it has, and tries again for more.`,
      )
    }
    return true
  }
}

export const adviceWithoutRoom =
  'Lower DATABASE_CONNECTIONS or the number of processes, or raise max_connections of the server (or the limit of the role or the database).'

/** Connections beside the pool: one listens, one holds the claims of this process, and one has the settings for seeks. */
const ofSessions = 3

/** With fewer connections, some kind of work could get none while others hold theirs. */
export const leastConnections = 8

/** How many connections of the pool each kind of work may have at once. */
export interface ConnectionCounts {
  /** All connections of the pool. */
  pool: number
  /** For handlers, which may hold theirs as long as they run. */
  handlers: number
  /** For statements of lists, which may be slow. */
  lists: number
  /** For statements of lists while their plans are quick: also all but one of those that are reserved for short statements. */
  quickLists: number
}

/**
 * Divides the connections of a process. A third of the pool, at least two, is reserved for short statements: acknowledgements,
 * claims, outcomes, sign-in.
 * @param connections at most, including those beside the pool; at least `leastConnections`
 */
export function divideConnections(connections: number): ConnectionCounts {
  if (connections < leastConnections)
    throw new RangeError(`a process needs at least ${leastConnections} connections, not ${connections}`)
  const pool = connections - ofSessions
  const reserved = Math.max(2, Math.floor(pool / 3))
  const divided = pool - reserved
  const lists = Math.floor(divided / 3)
  return { pool, lists, quickLists: lists + reserved - 1, handlers: divided - lists }
}
