import type { Engine } from '../../storage/query-runner.ts'
import type { Field, ListDeclaration, SortKey } from '../list.ts'
import { quote, quoteTable } from '../names.ts'
import { readOrder } from '../order.ts'
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
  /** The quoted columns of the order, and what they are called in the buckets. */
  columns: readonly string[]
  keys: readonly string[]
  fields: readonly Field[]
  descending: boolean
}

/** The standing order of a list, as it is kept. */
export function keptOrder(list: ListDeclaration): KeptOrder {
  const order = readOrder(list, undefined)
  return {
    table: quoteTable(list.table),
    total: quoteTable(keptName(list.table, 'total')),
    buckets: quoteTable(keptName(list.table, 'buckets')),
    changes: quoteTable(keptName(list.table, 'changes')),
    columns: order.map(({ field }) => quote(field.column)),
    keys: order.map((_, index) => `k${index}`),
    fields: order.map(({ field }, index) => ({ ...field, column: `k${index}` })),
    descending: order[0]!.descending,
  }
}

/** The name of something that is kept for a table, in the table's schema. */
export function keptName(table: string, what: string): string {
  const [schema, name] = table.includes('.') ? table.split('.', 2) : [undefined, table]
  return `${schema === undefined ? '' : `${schema}.`}postern_${name}_${what}`
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
