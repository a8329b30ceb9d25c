import type { Client, QueryResult, QueryResultRow } from 'pg'

/** Runs a statement on a session, which keeps it prepared where it has a name. */
export type Query = <Row extends QueryResultRow>(
  text: string,
  values?: readonly unknown[],
  name?: string,
) => Promise<QueryResult<Row>>

/** What several callers ask of one session, each when what came before it was answered. */
export interface QueuedQueries {
  readonly query: Query
  /** Runs `work`, whose statements go out with nobody else's between them. */
  inTurn<T>(work: (client: Client) => Promise<T>): Promise<T>
}

export function queuedQueries(client: Client): QueuedQueries {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    const answer = last.then(() => work(client))
    last = answer.catch(() => undefined)
    return answer
  }
  return {
    inTurn,
    query: <Row extends QueryResultRow>(text: string, values?: readonly unknown[], name?: string) =>
      inTurn(() =>
        client.query<Row>({ text, ...(values && { values: [...values] }), ...(name && { name }) }),
      ),
  }
}
