import type { PostgresDatabase } from '../../storage/database.ts'
import { poolRows } from '../../storage/postgres/pool/pool-rows.ts'
import type { CountCalls, Counted } from './shared-counts.ts'

/** See `count_calls` in storage/migrations/0001-initial/limits.ts. */
const countStatement = `
  select granted, calls, before, passed from count_calls($1::text[], $2::integer[], $3::integer[], $4) order by place`

/** Counts in the table that all processes share. */
export function postgresCallCounts(database: Pick<PostgresDatabase, 'pool'>): CountCalls {
  return (calls, now) => {
    const values = [
      calls.map(({ key }) => key),
      calls.map(({ wanted }) => wanted),
      calls.map(({ max }) => max),
      now,
    ]
    return poolRows<Counted>(database.pool, { name: 'count_calls', text: countStatement, values })
  }
}
