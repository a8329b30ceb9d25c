import { sql } from 'kysely'
import type { Database } from './database.ts'

/** Deletes the rows of a table that expired until a time. */
export async function deleteExpired(
  database: Database,
  table: 'client_assertions' | 'device_codes' | 'flows' | 'host_codes',
  until: number,
): Promise<void> {
  await database.transaction(
    (tx) => sql`delete from ${sql.table(table)} where expires_at <= ${until}`.execute(tx),
    { priority: 'work' },
  )
}
