import { hash } from 'node:crypto'
import type { Engine } from '../../storage/query-runner.ts'
import type { Field, ListDeclaration, SortKey } from '../list.ts'
import { longestName, quote, quoteTable } from '../names.ts'
import { standingOrder } from '../order.ts'
import { readColumn } from '../plan.ts'

/**
 * An order whose rows are counted in buckets, so that the row behind any number of others is found by adding up a few
 * hundred sizes. Its keys all go one way, and none may be null.
 */
export interface KeptOrder {
  /** The list's table, quoted. */
  table: string
  /** What the counting is kept in: three tables, quoted. */
  total: string
  buckets: string
  changes: string
  /** The quoted name of anything else that is kept for the order; without its schema when `local`. */
  named: (what: string, local?: boolean) => string
  /** The quoted columns of the order, the unique one last, and what they are called in the buckets. */
  columns: readonly string[]
  keys: readonly string[]
  fields: readonly Field[]
  descending: boolean
}

/** The standing order of a list, as it is kept. */
export function keptOrder(list: ListDeclaration): KeptOrder {
  const order = standingOrder(list)
  const named = (what: string, local = false): string => quoteTable(nameOf(list.table, order, what, local))
  return {
    table: quoteTable(list.table),
    total: named('total'),
    buckets: named('buckets'),
    changes: named('changes'),
    named,
    columns: order.map(({ field }) => quote(field.column)),
    keys: order.map((_, index) => `k${index}`),
    fields: order.map(({ field }, index) => ({ ...field, column: `k${index}` })),
    descending: order[0]!.descending,
  }
}

/** The table that is there when the standing order of a list is kept. */
export function totalOf(list: ListDeclaration): string {
  return nameOf(list.table, standingOrder(list), 'total', false)
}

/**
 * `postern_orders_total` for the key alone, ascending, else `postern_orders_by_placed_at_desc_id_desc_total`, in the table's
 * schema: lists of one table may stand in different orders, and those of the same order share what is kept.
 */
function nameOf(table: string, order: readonly SortKey[], what: string, local: boolean): string {
  const [schema, name] = table.includes('.') ? table.split('.', 2) : [undefined, table]
  const way = order.map(({ field, descending }) => `${field.column}${descending ? '_desc' : ''}`).join('_')
  const plain = order.length === 1 && !order[0]!.descending
  const full = `postern_${name}${plain ? '' : `_by_${way}`}`
  const room = longestName - what.length - 1
  const short = Buffer.byteLength(full) <= room ? full : `postern_${hash('sha256', full, 'hex').slice(0, 16)}`
  return `${schema === undefined || local ? '' : `${schema}.`}${short}_${what}`
}

/** Why an order cannot be kept; nothing when it can. */
export function faultOfKept(order: readonly SortKey[]): string | undefined {
  if (order.some(({ descending }) => descending !== order[0]!.descending))
    return 'keeps an order whose keys go different ways'
  const nullable = order.find(({ field }) => field.nullable)
  return nullable && `keeps an order by ${nullable.name}, which may be null`
}

/** `(a, b)`, or `a` alone. */
export function tuple(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : `(${parts.join(', ')})`
}

/** Terms of an `order by`. */
export function terms(columns: readonly string[], descending: boolean): string {
  return columns.map((column) => `${column}${descending ? ' desc' : ''}`).join(', ')
}

/** The keys of a bucket, as values that can be bound. */
export function readKeys({ fields }: KeptOrder, engine: Engine): string[] {
  return fields.map((field) => readColumn(field, engine))
}
