import type { Connection, Pool, PoolClient, Query } from 'pg'

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

/** What pg's types do not tell of a connection. */
interface Protocol extends Connection {
  parsedStatements: Record<string, string | undefined>
  submittedNamedStatements: Record<string, string | undefined>
}

/** Has the server prepare a statement, unless this connection has it under its name. */
export function parseOnce(
  connection: Connection,
  { name, text }: { name?: string | undefined; text: string },
): void {
  const { parsedStatements, submittedNamedStatements } = connection as Protocol
  if (name === undefined) connection.parse({ name: '', text, types: [] }, true)
  else if (!parsedStatements[name] && !submittedNamedStatements[name]) {
    connection.parse({ name, text, types: [] }, true)
    submittedNamedStatements[name] = text
  }
}
