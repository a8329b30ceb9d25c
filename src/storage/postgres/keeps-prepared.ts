import type { Client, Pool } from 'pg'

/** Pools, and connections of theirs, behind which a statement may not find what an earlier one prepared. */
const without = new WeakSet<object>()

/** Whether statements that were prepared under a name are there for the next statement on the same connection. */
export function keepsPrepared(on: Pool | Client): boolean {
  return !without.has(on)
}

/** Has every statement of a pool or of a client be prepared without a name, for itself alone. */
export function prepareNothing(on: Pool | Client): void {
  without.add(on)
}

/** Takes the names away from statements that a client is to run: those of configurations and of queries of one's own. */
export function runUnnamed(client: Client): void {
  prepareNothing(client)
  const query = client.query.bind(client) as (statement: unknown, ...rest: unknown[]) => unknown
  const unnamed = (statement: unknown, ...rest: unknown[]): unknown => query(withoutName(statement), ...rest)
  client.query = unnamed as Client['query']
}

function withoutName(statement: unknown): unknown {
  if (typeof statement !== 'object' || statement === null || !('name' in statement)) return statement
  if (!('submit' in statement)) return { ...statement, name: undefined }
  statement.name = undefined
  return statement
}
