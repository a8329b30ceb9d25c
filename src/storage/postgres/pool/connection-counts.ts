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
