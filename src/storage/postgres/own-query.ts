import type { Pool, PoolClient, Query } from 'pg'

/** How a query of one's own is answered. */
export type Answer<Result> = (error: Error | null, result?: Result) => void

/** A query that takes what the protocol brings by itself; the client that runs it sets its callback. */
export interface OwnQuery<Result> extends Query {
  callback: Answer<Result>
}

/** Runs one, on a connection of the pool or on one that the caller has of it. */
export function runOwn<Result>(on: Pool | PoolClient, own: OwnQuery<Result>): Promise<Result> {
  // The types of pg know of no query of one's own that is answered by a call.
  const { query } = on as {
    query: (own: OwnQuery<Result>, values: undefined, answer: Answer<Result>) => unknown
  }
  return new Promise((resolve, reject) => {
    query.call(on, own, undefined, (error, result) => {
      if (error) reject(error)
      else resolve(result!)
    })
  })
}
