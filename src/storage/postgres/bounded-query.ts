import type { QueryConfig } from 'pg'

/** A statement with a bound of its own, in place of its pool's. */
export interface BoundedQuery extends QueryConfig {
  /** Milliseconds; beyond them the connection is given up. pg reads it, and its types do not tell of it. */
  query_timeout: number
}

/** @param within milliseconds that the answer may take; beyond them the connection is given up */
export function bounded(within: number, text: string, values?: unknown[]): BoundedQuery {
  return { text, query_timeout: within, ...(values && { values }) }
}
