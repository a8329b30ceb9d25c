import { orderTerms } from '../../storage/maintained-counts/counted-order.ts'
import type { ListDeclaration } from '../list.ts'
import { planOf } from '../plan.ts'
import type { ListReader } from '../reader.ts'
import type { MaintainedCounts } from './counts.ts'
import { countedOrderOf, readKeys } from './list-order.ts'
import { changesByBucketSql, totalSql } from './sql.ts'

/** Adds up the sizes of the buckets in one statement, which sees one moment. */
export function postgresCounts(list: ListDeclaration, reader: ListReader): MaintainedCounts {
  const total = planOf(totalSql(list))
  const location = planOf(locationSql(list), [0])
  const { keys } = countedOrderOf(list)
  return {
    totalSql: total.sql,
    async total() {
      const [row] = await reader.read(total, [])
      return Number(row?.[0] ?? 0)
    },
    async locate(offset) {
      const [row] = await reader.read(location, [offset])
      if (!row) return undefined
      const [number, start, all] = row.slice(keys.length).map(Number) as [number, number, number]
      return { total: all, key: number === 1 ? undefined : row.slice(0, keys.length), skip: offset - start }
    },
  }
}

/** The last bucket that begins at `$1` or before: its keys, its number from 1, the rows before it, and the number of all rows. */
function locationSql(list: ListDeclaration): string {
  const order = countedOrderOf(list)
  const { keys, buckets, descending } = order
  return `with changed as (${changesByBucketSql(order)}),
      sized as (select ${keys.map((key) => `b.${key}`).join(', ')}, b.size + coalesce(c.size, 0) as size
        from ${buckets} b left join changed c on c.id = b.id),
      placed as (select ${keys.join(', ')}, row_number() over w as n, sum(size) over w - size as start
        from sized window w as (order by ${orderTerms(keys, descending)} rows unbounded preceding))
    select ${readKeys(list, 'postgres').join(', ')}, n, start::bigint, (select sum(size) from sized)::bigint
      from placed where start <= $1 order by ${orderTerms(keys, !descending)} limit 1`
}
