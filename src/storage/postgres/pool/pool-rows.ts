import type { Pool, QueryConfig, QueryResultRow } from 'pg'
import { translated } from '../../unavailable.ts'

/** Runs a statement of its own on a pool and returns the rows. @throws StorageUnavailable */
export async function poolRows<Row>(pool: Pool, statement: QueryConfig): Promise<Row[]> {
  return (await translated(pool.query<Row & QueryResultRow>(statement))).rows
}
