import type { Pool } from 'pg'
import { poolRows } from '../../storage/postgres/pool/pool-rows.ts'
import type { Reserved, ReserveRate } from '../endpoint/shared-source-rate.ts'

/** See `take_source_rate` in storage/migrations/0001-initial/limits.ts. */
const reserveStatement = `
  select granted, owed from take_source_rate($1, $2, $3::double precision, $4::double precision, $5::double precision)`

/** Reserves events of a source in the row that all processes share. */
export function postgresRates(pool: Pool): ReserveRate {
  return async ({ source, wanted, cost, credit }, now) => {
    const values = [source, wanted, cost, credit, now]
    const [row] = await poolRows<Reserved>(pool, { name: 'source_rate', text: reserveStatement, values })
    return row!
  }
}
