import { orderTerms, tuple, type CountedOrder } from '../../storage/maintained-counts/counted-order.ts'
import type { ListDeclaration } from '../list.ts'
import { countedOrderOf } from './list-order.ts'

/** The number of rows: the stored total and the changes that are not folded into it yet. */
export function totalSql(list: ListDeclaration): string {
  const { total, changes } = countedOrderOf(list)
  return `select size + coalesce((select sum(size) from ${changes}), 0) as total from ${total}`
}

/** The id of the bucket that a key belongs to; no row for a key before the first bucket. */
export function bucketOfSql({ buckets, keys, descending }: CountedOrder, key: string): string {
  const own = keys.map((name) => `b.${name}`)
  return `select b.id from ${buckets} b where ${tuple(own)} ${descending ? '>=' : '<='} ${key}
    order by ${orderTerms(own, !descending)} limit 1`
}

/** The id of the first bucket, which counts the rows before it, too. */
export function firstBucketSql({ buckets, keys, descending }: CountedOrder): string {
  return `select id from ${buckets} order by ${orderTerms(keys, descending)} limit 1`
}

/** The recorded changes of each bucket, as `id` and `size`. @param from a table or a CTE of changes. */
export function changesByBucketSql(order: CountedOrder, from = order.changes): string {
  const bucket = bucketOfSql(order, tuple(order.keys.map((key) => `c.${key}`)))
  return `select coalesce((${bucket}), (${firstBucketSql(order)})) as id, sum(c.size) as size from ${from} c group by 1`
}
