import type { QueryResultRow } from 'pg'
import type { PostgresDatabase } from '../../storage/database.ts'
import { bounded } from '../../storage/postgres/driver/statement.ts'
import { translateError } from '../../storage/unavailable.ts'

/**
 * Milliseconds until a statement counts as failed, so that a broken network path does not stop the dispatcher. The batch is then
 * written again, which has no effect if the first write was committed.
 */
export const answerWithin = 5_000

/** Runs a named statement, which each connection plans once. */
export type Run = <Row extends QueryResultRow>(
  name: string,
  text: string,
  values: unknown[],
) => Promise<Row[]>

export function runOn(pool: PostgresDatabase['pool']): Run {
  return async <Row extends QueryResultRow>(name: string, text: string, values: unknown[]) => {
    const query = { ...bounded(answerWithin, text, values), name: `emitting_${name}` }
    return (await translated(pool.query<Row>(query))).rows
  }
}

/** @throws StorageUnavailable */
export async function translated<T>(result: Promise<T>): Promise<T> {
  try {
    return await result
  } catch (error) {
    throw translateError(error)
  }
}
