import {
  countedOrder,
  countsName,
  type CountedOrder,
  type OrderColumns,
  orderTerms,
  tuple,
} from '../../storage/maintained-counts.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { ListDeclaration, SortKey } from '../list.ts'
import { defaultOrder } from '../order.ts'
import { readColumn } from '../plan.ts'

/** The default order of a list, with the names of its counts. */
export function countedOrderOf(list: ListDeclaration): CountedOrder {
  return countedOrder(orderColumns(list))
}

/** The name of a table that exists when the counts of the list are maintained. */
export function totalTableOf(list: ListDeclaration): string {
  return countsName(orderColumns(list), 'total')
}

function orderColumns(list: ListDeclaration): OrderColumns {
  const order = defaultOrder(list)
  return {
    table: list.table,
    columns: order.map(({ field }) => field.column),
    descending: order[0]!.descending,
  }
}

/** Why counts cannot be maintained for an order; `undefined` when they can. */
export function whyNotCountable(order: readonly SortKey[]): string | undefined {
  if (order.some(({ descending }) => descending !== order[0]!.descending))
    return '`keep` needs an order whose keys all have the same direction'
  const foreign = order.find(({ field }) => field.operators !== undefined)
  if (foreign)
    return `\`keep\` needs an order of types on the search path: add the schema ${foreign.field.operators} of the type of ${foreign.name} to it`
  if (order[0]?.of) return `\`keep\` needs an order by the list's own fields, and not by ${order[0].name}`
  const collated = order.find(({ field }) => field.collation !== undefined)
  if (collated) return `\`keep\` needs an order by the columns' collations, and ${collated.name} has another`
  const nullable = order.find(({ field }) => field.nullable)
  return nullable && `\`keep\` needs an order without nulls, and ${nullable.name} may be null`
}

/** The SQL that reads the keys of a bucket as values that can be bound. */
export function readKeys(list: ListDeclaration, engine: Engine): string[] {
  return defaultOrder(list).map(({ field }, index) => readColumn({ ...field, column: `k${index}` }, engine))
}

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
