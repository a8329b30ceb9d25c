import {
  countedOrder,
  countsName,
  type CountedOrder,
  type OrderColumns,
} from '../../storage/maintained-counts/counted-order.ts'
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
  const nullable = order.find(({ field }) => field.nullable)
  return nullable && `\`keep\` needs an order without nulls, and ${nullable.name} may be null`
}

/** The SQL that reads the keys of a bucket as values that can be bound. */
export function readKeys(list: ListDeclaration, engine: Engine): string[] {
  return defaultOrder(list).map(({ field }, index) => readColumn({ ...field, column: `k${index}` }, engine))
}
