import { sql, type RawBuilder } from 'kysely'

/** In an upsert, the later of the stored time and the new one. A `case`, because the engines name the function differently. */
export function laterOf(stored: `${'rejected_counts' | 'receiving_activity'}.last_at`): RawBuilder<number> {
  const column = sql.ref(stored)
  return sql`case when excluded.last_at > ${column} then excluded.last_at else ${column} end`
}
