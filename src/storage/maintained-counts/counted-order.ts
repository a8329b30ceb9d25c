import { hash } from 'node:crypto'
import { longestName, quote, quoteTable } from '../sql-text.ts'

/** An order of a table's rows. Every key has the same direction, none may be null, and the last one is unique. */
export interface OrderColumns {
  /** With its schema, if it has one. */
  table: string
  columns: readonly string[]
  descending: boolean
}

/**
 * An order whose rows are counted in buckets. The position of a row is found by adding up the sizes of the buckets before it.
 * All names are quoted.
 */
export interface CountedOrder {
  table: string
  /** The three tables that hold the counts. */
  total: string
  buckets: string
  changes: string
  /** The name of a trigger or function; `local` leaves out the schema. */
  named: (what: string, local?: boolean) => string
  /** The columns of the order, and their names in `buckets` and `changes`. */
  columns: readonly string[]
  keys: readonly string[]
  descending: boolean
}

export function countedOrder(order: OrderColumns): CountedOrder {
  const named = (what: string, local = false): string => quoteTable(countsName(order, what, local))
  return {
    table: quoteTable(order.table),
    total: named('total'),
    buckets: named('buckets'),
    changes: named('changes'),
    named,
    columns: order.columns.map(quote),
    keys: order.columns.map((_, index) => `k${index}`),
    descending: order.descending,
  }
}

/**
 * `postern_orders_total` for one ascending key, otherwise `postern_orders_by_placed_at_desc_id_desc_total`, in the table's
 * schema. Lists of one table may have different default orders; lists with the same order share their counts.
 */
export function countsName(
  { table, columns, descending }: OrderColumns,
  what: string,
  local = false,
): string {
  const [schema, name] = table.includes('.') ? table.split('.', 2) : [undefined, table]
  const suffix = columns.map((column) => `${column}${descending ? '_desc' : ''}`).join('_')
  const full = `postern_${name}${columns.length === 1 && !descending ? '' : `_by_${suffix}`}`
  const room = longestName - what.length - 1
  const short = Buffer.byteLength(full) <= room ? full : `postern_${hash('sha256', full, 'hex').slice(0, 16)}`
  return `${schema === undefined || local ? '' : `${schema}.`}${short}_${what}`
}

/** `(a, b)`, or `a` for a single part. */
export function tuple(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : `(${parts.join(', ')})`
}

/** The terms of an `order by`. */
export function orderTerms(columns: readonly string[], descending: boolean): string {
  return columns.map((column) => `${column}${descending ? ' desc' : ''}`).join(', ')
}
