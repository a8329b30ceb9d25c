import type { QueryResult as KyselyResult } from 'kysely'
import type { QueryResult } from 'pg'

/** What pg answers, as Kysely wants it. */
export function toResult(result: QueryResult): KyselyResult<unknown> {
  return { rows: result.rows as unknown[], numAffectedRows: BigInt(result.rowCount ?? 0) }
}
