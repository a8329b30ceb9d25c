import { hash } from 'node:crypto'
import type { Engine } from '../storage/query-runner.ts'
import { fieldTypes } from './field-types.ts'
import { filterKinds, type AppliedFilter } from './filters.ts'
import { fieldOf, shownFields, type Field, type ListDeclaration, type SortKey } from './list.ts'
import { internalName } from './names.ts'
import { quote, quoteTable } from '../storage/sql-names.ts'
import { rangesAfter, type Range } from './ranges.ts'

/** A statement for all queries of one shape, and where its parameters come from. */
export interface Plan {
  readonly sql: string
  /** For each placeholder, which of the query's values goes there. */
  readonly slots: readonly number[]
  /** Unique to the statement's text, and short enough to name a prepared one. */
  readonly name: string
}

export interface QueryShape {
  list: ListDeclaration
  /** The fields to read, in the order of a row. By default those that the list shows. */
  columns?: readonly string[]
  filters: readonly AppliedFilter[]
  order: readonly SortKey[]
  /** Rows to read. Written into the statement: PostgreSQL plans a prepared one well only when it knows the limit. */
  rows: number
  /**
   * Where the page begins: at the first row, behind a row whose key values are given, or behind a number of rows; `landing`
   * is a number of rows behind the first one that is not before a key.
   */
  from: 'start' | 'key' | 'offset' | 'bucket'
  /** Which of the key values are null. None by default. */
  nulls?: readonly boolean[]
  /** SQL of one value, which every row has behind its columns; of a page by number alone. */
  total?: string | undefined
}

/**
 * The statement of a page. Its values are those of the filters, in order, then the key values or the offset.
 *
 * A page behind a key is a seek, never `a > ? or (a = ? and b > ?)`, which both engines run as a filter over all rows
 * from the first one on. Where the rows behind a key lie in several ranges (ranges.ts), each is sought with a limit of
 * its own, and the few rows are merged.
 */
export function planPage(shape: QueryShape, engine: Engine): Plan {
  const { list, filters, order, rows, from, nulls = [] } = shape
  const statement = new Statement(engine)
  const afterFilters = filters.reduce((count, { values }) => count + values.length, 0)
  const columns = (shape.columns ?? shownFields(list.fields)).map((name) =>
    readColumn(fieldOf(list, name), engine),
  )
  if (shape.total !== undefined) columns.push(`(${shape.total}) as ${internalName('total')}`)
  const byColumns = order.map(({ field, descending }) => orderTerm(quote(field.column), descending))
  const select = (range?: Range): string => {
    const conditions = filterConditions(list, filters, statement)
    if (range) conditions.push(...rangeConditions(range, shape, afterFilters, statement))
    return `from ${quoteTable(list.table)}${where(conditions)}${limited(byColumns, rows)}`
  }
  if (from === 'start') return statement.plan(`select ${columns.join(', ')} ${select()}`)
  if (from === 'offset') {
    const page = select()
    return statement.plan(`select ${columns.join(', ')} ${page} offset ${statement.value(afterFilters)}`)
  }
  if (from === 'bucket') {
    const range: Range = { equal: 0, next: { kind: 'after', keys: order.length } }
    const page = select(range)
    return statement.plan(
      `select ${columns.join(', ')} ${page} offset ${statement.value(afterFilters + order.length)}`,
    )
  }
  const selects = rangesAfter(order, nulls, engine).map(select)
  return selects.length === 1
    ? statement.plan(`select ${columns.join(', ')} ${selects[0]!}`)
    : statement.plan(mergeRanges(selects, columns, shape))
}

/** Merges the rows of several ranges. A column may sort otherwise than as it is shown, so each range reads both. */
function mergeRanges(
  selects: readonly string[],
  columns: readonly string[],
  { order, rows }: QueryShape,
): string {
  const named = columns.map((column, index) => `${column} as ${internalName(`c${index}`)}`)
  const keys = order.map(({ field }, index) => `${quote(field.column)} as ${internalName(`k${index}`)}`)
  const ranges = selects.map(
    (sql, index) =>
      `select * from (select ${[...named, ...keys].join(', ')} ${sql}) as ${internalName(`range${index}`)}`,
  )
  const shown = columns.map((_, index) => internalName(`c${index}`))
  const byKeys = order.map(({ descending }, index) => orderTerm(internalName(`k${index}`), descending))
  return `select ${shown.join(', ')} from (${ranges.join(' union all ')}) as ${internalName('page')}${limited(byKeys, rows)}`
}

function limited(terms: readonly string[], rows: number): string {
  return ` order by ${terms.join(', ')} limit ${rows}`
}

export function planOf(sql: string, slots: readonly number[] = []): Plan {
  return { sql, slots, name: `list_${hash('sha256', sql, 'base64url').slice(0, 22)}` }
}

/** The number of rows that the filters let pass, as `total`. */
export function planCount(list: ListDeclaration, filters: readonly AppliedFilter[], engine: Engine): Plan {
  const statement = new Statement(engine)
  const conditions = filterConditions(list, filters, statement)
  return statement.plan(`select count(*) as total from ${quoteTable(list.table)}${where(conditions)}`)
}

/** A text in the making: placeholders are numbered as they are written, so it is to be written from left to right. */
export class Statement {
  readonly engine: Engine
  readonly #slots: number[] = []

  constructor(engine: Engine) {
    this.engine = engine
  }

  /** The placeholder of one of the query's values, as a value of a field's type when one is given. */
  value(index: number, field?: Field): string {
    this.#slots.push(index)
    const place = this.engine === 'postgres' ? `$${this.#slots.length}` : '?'
    const bind = field && fieldTypes[field.type].bind?.[this.engine]
    return bind ? bind(place) : place
  }

  plan(sql: string): Plan {
    return planOf(sql, this.#slots)
  }
}

/** The SQL that reads a field. */
export function readColumn(field: Field, engine: Engine): string {
  const column = quote(field.column)
  const select = fieldTypes[field.type].select?.[engine]
  return select ? select(column) : column
}

function rangeConditions(
  { equal, next }: Range,
  { order, from, nulls = [] }: QueryShape,
  firstValue: number,
  statement: Statement,
): string[] {
  const column = (index: number): string => quote(order[index]!.field.column)
  const value = (index: number): string => statement.value(firstValue + index, order[index]!.field)
  const conditions = order
    .slice(0, equal)
    .map((_, index) => (nulls[index] ? `${column(index)} is null` : `${column(index)} = ${value(index)}`))
  if (next.kind !== 'after') return [...conditions, `${column(equal)} is ${next.kind}`]
  const keys = Array.from({ length: next.keys }, (_, index) => equal + index)
  const operator = `${order[equal]!.descending ? '<' : '>'}${from === 'bucket' ? '=' : ''}`
  return [...conditions, `${asRow(keys.map(column))} ${operator} ${asRow(keys.map(value))}`]
}

function filterConditions(
  list: ListDeclaration,
  filters: readonly AppliedFilter[],
  statement: Statement,
): string[] {
  let slot = 0
  return filters.map((applied) => {
    const field = fieldOf(list, applied.filter.field)
    return filterKinds[applied.filter.kind].sql({
      column: quote(field.column),
      value: () => statement.value(slot++, field),
      plain: () => statement.value(slot++),
      engine: statement.engine,
      list,
      applied,
    })
  })
}

function where(conditions: readonly string[]): string {
  return conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
}

function orderTerm(column: string, descending: boolean): string {
  return `${column}${descending ? ' desc' : ''}`
}

function asRow(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : `(${parts.join(', ')})`
}
