/** The use of a limit that holds for all processes together. See emitting/deliveries/allowances.ts. */
export interface AllowancesTable {
  /** The kind of limit and its holder. */
  key: string
  /** When the full allowance is available again. */
  until: number
}

/** The slots of one process for a handler with a declared concurrency. PostgreSQL only. */
export interface HandlerSlotsTable {
  /** The type or pattern that the handler was declared for. */
  handler: string
  /** The process: its id in `event_queue_claimers`. */
  claimer: number
  held: number
  wanted: number
  /** When other processes may take the slots, unless the process renews them before. */
  until: number
}

/** The use of a source's declared rate by all processes together. PostgreSQL only. */
export interface SourceRatesTable {
  source: string
  /** The time of the last change, in milliseconds and fractions. */
  at: number
  /** When the full rate is available again, in milliseconds and fractions. */
  until: number
}

/** The calls of a minute, counted by all processes together. PostgreSQL only. */
export interface CallCountsTable {
  /** A hash of the kind of limit and its holder. */
  key: string
  /** Minutes since 1970. */
  minute: number
  calls: number
  /** Calls in the minute before. */
  before: number
}
