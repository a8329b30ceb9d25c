import { sql, type RawBuilder, type SqlBool } from 'kysely'
import type { Engine } from './query-runner.ts'

/**
 * SQL for whether a column has one of many values, as one parameter: a parameter for each makes a statement of thousands of
 * characters, which is written, parsed and planned anew for each number of values.
 */
export function isOneOf(
  engine: Engine,
  column: string,
  values: readonly number[] | readonly string[],
): RawBuilder<SqlBool> {
  const left = sql.ref(column)
  if (engine === 'sqlite') return sql`${left} in (select value from json_each(${JSON.stringify(values)}))`
  const type = sql.raw(typeof values[0] === 'string' ? 'text[]' : 'bigint[]')
  return sql`${left} = any(${[...values]}::${type})`
}
