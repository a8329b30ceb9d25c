import { sql, type RawBuilder } from 'kysely'
import type { Queryable } from '../storage/database.ts'

type Table = 'deliveries' | 'events'

/**
 * The id of the first row that was created at `time` or later, found by bisection over the primary key: ids and times both grow.
 * Rows of overlapping transactions can be a few places out of that order. Behind the last row if none is as late.
 * @param time milliseconds since 1970
 */
export async function idAtTime(db: Queryable, table: Table, time: number): Promise<number> {
  const { rows: found } = await idAtTimeSql(table, time).execute(db)
  return found[0]!.id
}

/** The statement of `idAtTime`. */
export function idAtTimeSql(table: Table, time: number): RawBuilder<{ id: number }> {
  const rows = sql.table(table)
  const middle = sql`(low + high) / 2`
  const at = sql`coalesce((select created_at from ${rows} where id >= ${middle} order by id limit 1), ${time})`
  return sql<{ id: number }>`
    with recursive search (low, high) as (
      select coalesce((select min(id) from ${rows}), 0), coalesce((select max(id) from ${rows}), 0) + 1
      union all
      select case when ${at} < ${time} then ${middle} + 1 else low end,
        case when ${at} < ${time} then high else ${middle} end from search where low < high
    )
    select low as id from search where low >= high limit 1`
}
