import type { CompiledQuery } from 'kysely'
import type { QueryConfig } from 'pg'

/** Statements that a connection keeps prepared, at most. */
const most = 100
const names = new Map<string, string>()

/**
 * Has every connection plan this statement once, whatever its values: worth it for what is short and often run. Its text
 * must not vary from call to call, and it must name the columns that it answers, since a table may get others meanwhile.
 */
export function prepare(query: CompiledQuery): CompiledQuery {
  if (!names.has(query.sql) && names.size < most) names.set(query.sql, `postern_${names.size}`)
  return query
}

/** The name of a statement that is prepared. */
export function preparedName(text: string): string | undefined {
  return names.get(text)
}

/** As pg is to be asked. */
export function toStatement({ sql: text, parameters }: CompiledQuery): QueryConfig {
  const name = preparedName(text)
  const values = parameters as unknown[]
  return name === undefined ? { text, values } : { name, text, values }
}
