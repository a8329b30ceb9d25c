/**
 * Connections beside the pool: one session listens, one holds the claims of this process, and one seeks with settings
 * of its own.
 */
const ofSessions = 3

/** Fewer would leave some kind of work without a connection while others hold theirs. */
export const leastConnections = 8

/** How many connections of the pool each kind of work may have at once. */
export interface ConnectionCounts {
  /** All together. */
  pool: number
  /** Handlers, which may keep theirs for as long as they run. */
  handlers: number
  /** Statements of lists, which may read much. */
  lists: number
}

/**
 * Divides the connections of a process. What neither handlers nor lists may take is left for statements that are short:
 * acknowledgements, claims, outcomes, sign-in. At least two are left, a third of the pool if that is more.
 * @param connections at most, those beside the pool included; at least `leastConnections`
 */
export function divideConnections(connections: number): ConnectionCounts {
  if (connections < leastConnections)
    throw new RangeError(`a process needs at least ${leastConnections} connections, not ${connections}`)
  const pool = connections - ofSessions
  const divided = pool - Math.max(2, Math.floor(pool / 3))
  const lists = Math.floor(divided / 3)
  return { pool, lists, handlers: divided - lists }
}
