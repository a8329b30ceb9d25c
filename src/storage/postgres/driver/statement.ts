import type { CompiledQuery, QueryResult } from 'kysely'
import type { QueryConfig, QueryResult as PgResult } from 'pg'
import { kindOf } from '../../statement-kinds.ts'

/** A statement with a time limit of its own, instead of its pool's. */
interface BoundedQuery extends QueryConfig {
  /** Milliseconds. pg reads this field, but its types lack it. */
  query_timeout: number
}

/** @param within milliseconds until the answer; then the statement fails and its connection is closed */
export function bounded(within: number, text: string, values?: unknown[]): BoundedQuery {
  return { text, query_timeout: within, ...(values && { values }) }
}

/** Statements of handlers are named while there are fewer names than this: every connection keeps each of them prepared. */
const mostNamed = 100
/** By text, for all connections of this process. */
const names = new Map<string, string>()

/**
 * Keeps a statement prepared on every connection, with one plan for all values. Its text must not vary, or the names would grow
 * without bound, and it must name its result columns, because a table may get more columns while the service runs.
 */
export function prepare(query: CompiledQuery): CompiledQuery {
  if (!names.has(query.sql)) names.set(query.sql, `postern_${names.size}`)
  return query
}

/** The name of a statement that `prepare` knows, or of a handler's that is safe to prepare. */
export function nameOf(text: string, ofHandler = false): string | undefined {
  if (ofHandler && !names.has(text) && names.size < mostNamed && kindOf('postgres', text).returnsNoRows)
    names.set(text, `postern_${names.size}`)
  return names.get(text)
}

/** A statement in the form that pg expects. */
export function toStatement({ sql: text, parameters }: CompiledQuery): QueryConfig {
  const name = nameOf(text)
  const values = parameters as unknown[]
  return name === undefined ? { text, values } : { name, text, values }
}

/**
 * A statement of the user's code. Extended protocol, because a single statement cannot contain a second one that ends the transaction.
 * @param within milliseconds; default: the pool's limit
 */
export function usersStatement({ sql: text, parameters }: CompiledQuery, within?: number): QueryConfig {
  const name = nameOf(text, true)
  const extended = { text, values: parameters as unknown[], queryMode: 'extended' }
  return {
    ...extended,
    ...(within !== undefined && { query_timeout: within }),
    ...(name !== undefined && { name }),
  }
}

/** A result of pg in the form that Kysely expects. */
export function toResult(result: PgResult): QueryResult<unknown> {
  return { rows: result.rows as unknown[], numAffectedRows: BigInt(result.rowCount ?? 0) }
}
