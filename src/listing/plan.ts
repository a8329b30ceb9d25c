import { hash } from 'node:crypto'
import type { Engine } from '../storage/query-runner.ts'
import { filterKinds, type AppliedFilter } from './filters.ts'
import type { ListDeclaration, SortKey } from './list.ts'

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
  filters: readonly AppliedFilter[]
  order: readonly SortKey[]
  /** Rows to read. Written into the statement: PostgreSQL plans a prepared one well only when it knows the limit. */
  rows: number
  /** Where the page begins: at the first row, behind a row whose key values are given, or behind a number of rows. */
  from: 'start' | 'key' | 'offset'
}

/**
 * The statement of a page. Its values are those of the filters, in order, then the key values or the offset.
 *
 * A page behind a key is a seek, never `a > ? or (a = ? and b > ?)`, which both engines run as a filter over all rows
 * from the first one on. Keys that go one way compare as a row value. Where directions are mixed, the rows behind a
 * key lie in several ranges, one for each change of direction: each is sought with a limit of its own, and the few
 * rows are merged.
 */
export function planPage({ list, filters, order, rows, from }: QueryShape, engine: Engine): Plan {
  const statement = new Statement(engine)
  const columns = Object.values(list.fields)
    .map(({ column }) => quote(column))
    .join(', ')
  const tail = ` order by ${order.map(orderTerm).join(', ')} limit ${rows}`
  const afterFilters = filters.reduce((count, { values }) => count + values.length, 0)
  const select = (range?: Range): string => {
    const conditions = filterConditions(list, filters, statement)
    if (range) conditions.push(...rangeConditions(range, afterFilters, statement))
    return `select ${columns} from ${quote(list.table)}${where(conditions)}${tail}`
  }
  if (from === 'start') return statement.plan(select())
  if (from === 'offset') {
    const page = select()
    return statement.plan(`${page} offset ${statement.value(afterFilters)}`)
  }
  const selects = seekRanges(order).map(select)
  if (selects.length === 1) return statement.plan(selects[0]!)
  const ranges = selects.map((sql, index) => `select * from (${sql}) as range${index}`)
  return statement.plan(ranges.join(' union all ') + tail)
}

/** The number of rows that the filters let pass, as `total`. */
export function planCount(list: ListDeclaration, filters: readonly AppliedFilter[], engine: Engine): Plan {
  const statement = new Statement(engine)
  const conditions = filterConditions(list, filters, statement)
  return statement.plan(`select count(*) as total from ${quote(list.table)}${where(conditions)}`)
}

/** A text in the making: placeholders are numbered as they are written, so it is to be written from left to right. */
class Statement {
  readonly #engine: Engine
  readonly #slots: number[] = []

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** The placeholder of one of the query's values. */
  value(index: number): string {
    this.#slots.push(index)
    return this.#engine === 'postgres' ? `$${this.#slots.length}` : '?'
  }

  plan(sql: string): Plan {
    return { sql, slots: this.#slots, name: `list_${hash('sha256', sql, 'base64url').slice(0, 22)}` }
  }
}

/** Rows that equal the key in the first keys and lie behind it in the next ones, which all go one way. */
interface Range {
  equal: readonly SortKey[]
  beyond: readonly SortKey[]
}

/** The rows behind a key, as ranges of the index: the nearest first. */
function seekRanges(order: readonly SortKey[]): Range[] {
  const ranges: Range[] = []
  let start = 0
  for (let end = 1; end <= order.length; end += 1) {
    if (order[end]?.descending === order[start]!.descending) continue
    ranges.unshift({ equal: order.slice(0, start), beyond: order.slice(start, end) })
    start = end
  }
  return ranges
}

function rangeConditions({ equal, beyond }: Range, firstValue: number, statement: Statement): string[] {
  const conditions = equal.map(
    ({ field }, index) => `${quote(field.column)} = ${statement.value(firstValue + index)}`,
  )
  const columns = beyond.map(({ field }) => quote(field.column))
  const values = beyond.map((_, index) => statement.value(firstValue + equal.length + index))
  const operator = beyond[0]!.descending ? '<' : '>'
  conditions.push(`${asRow(columns)} ${operator} ${asRow(values)}`)
  return conditions
}

function filterConditions(
  list: ListDeclaration,
  filters: readonly AppliedFilter[],
  statement: Statement,
): string[] {
  let slot = 0
  return filters.map(({ filter }) =>
    filterKinds[filter.kind].sql(quote(list.fields[filter.field]!.column), () => statement.value(slot++)),
  )
}

function where(conditions: readonly string[]): string {
  return conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
}

function orderTerm({ field, descending }: SortKey): string {
  return `${quote(field.column)}${descending ? ' desc' : ''}`
}

function asRow(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : `(${parts.join(', ')})`
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
