import type { PostgresDatabase } from '../../storage/database.ts'
import { bounded } from '../../storage/postgres/driver/statement.ts'
import { poolRows } from '../../storage/postgres/pool/pool-rows.ts'

/**
 * Milliseconds until a statement counts as failed, so that a broken network path does not stop the dispatcher. The batch is then
 * written again, which has no effect if the first write was committed.
 */
export const answerWithin = 5_000

/** Runs a named statement, which each connection plans once. */
export type Run = <Row>(name: string, text: string, values: unknown[]) => Promise<Row[]>

export function runOn(pool: PostgresDatabase['pool']): Run {
  return (name, text, values) =>
    poolRows(pool, { ...bounded(answerWithin, text, values), name: `emitting_${name}` })
}
