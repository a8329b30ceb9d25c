/**
 * All advisory locks of PostgreSQL that the service takes. Locks with one key and locks with two keys never meet. The functions of
 * `migrations/0001-initial` take more: (7226, 4) for handler slots, (7226, 23) for the continuity of a server, and the bigint keys
 * whose upper 16 bits are 7226 (events) and 7227 (audit log).
 */
export const locks = {
  /** One key. */
  migration: 7_226_001,
  /** One key. The process that removes old rows holds it. */
  retention: 7_226_003,

  /** Two keys. The session of each listener holds it, shared, so that listeners can be counted. */
  listener: [7_226, 2],
  /** Two keys. Taken by each change that can remove an admin. */
  admin: [7_226, 3],
  /** Two keys. Taken by each process while it adds its minutes to the history of metrics. */
  history: [7_226, 5],
  /** Two keys. Taken by each change of the stored event types. */
  eventTypes: [7_226, 6],
} as const

/** First keys. The second one identifies what is locked. */
export const lockSpaces = {
  /** Processes that claim received events and subscriber queues: their id in `claimers`. */
  claimers: 7_227,
  /** Hash of an order key. */
  orderKeys: 7_229,
  /** Hash of an owner whose objects are counted. */
  owners: 7_232,
  /** A random number, to compare two addresses of a database. */
  poolerCheck: 7_226_031,
} as const
