import { hash } from 'node:crypto'
import type { Engine } from '../storage/query-runner.ts'
import { fieldTypes } from './field-types.ts'
import { comparedField, memberColumn, rulesOf } from './filters.ts'
import {
  type AppliedFilter,
  collated,
  comparison,
  type Field,
  fieldOf,
  isOpposed,
  type ListDeclaration,
  nullsComeAfter,
  orderedColumn,
  shownFields,
  type SortKey,
} from './list.ts'
import { quote, quoteTable } from '../storage/sql-text.ts'

/** A name for aliases in generated SQL. The prefix avoids conflicts with the columns of users' tables. */
export function internalName(name: string): string {
  return `postern_${name}`
}

/** A statement for all queries of one shape. */
export interface Plan {
  readonly sql: string
  /** For each placeholder, the index of its value among the query's values. */
  readonly slots: readonly number[]
  /** A hash of the text, short enough to name a prepared statement. */
  readonly name: string
  /** Milliseconds that the statement may take at the server. On SQLite it then runs aside, and has the condition `inTime`. */
  readonly within?: number
}

export interface QueryShape {
  list: ListDeclaration
  /** The fields to read, in the order of a row. By default those that are shown. */
  columns?: readonly string[]
  filters: readonly AppliedFilter[]
  order: readonly SortKey[]
  /** Rows to read. The number is part of the text: PostgreSQL plans a prepared statement well only with a known limit. */
  rows: number
  /**
   * Where the page begins: `start` at the first row, `key` after a row with given key values, `offset` after a number of rows,
   * `bucket` a number of rows after the first row that is not before a key.
   */
  from: 'start' | 'key' | 'offset' | 'bucket'
  /** Which of the key values are null; by default none. */
  nulls?: readonly boolean[]
  /** SQL of the total, which each row of an offset page has as its last column. */
  total?: string | undefined
}

/**
 * The statement of a page. Its values are those of the filters, in order, then the key values or the offset.
 *
 * A page after a key is an index seek, never `a > ? or (a = ? and b > ?)`: both engines run that as a filter over all rows from
 * the first one on. Where the rows after a key lie in several ranges (rangesAfter), each range is sought with a limit of its own,
 * and their few rows are merged.
 */
export function planPage(given: QueryShape, engine: Engine): Plan {
  const shape = { ...given, order: given.order.map(withAlias) }
  const { list, filters, order, rows, from, nulls = [] } = shape
  const statement = new Statement(engine)
  const afterFilters = filters.reduce((count, { values }) => count + values.length, 0)
  const columns = (shape.columns ?? shownFields(list.fields)).map((name) =>
    readColumn(
      order.find((key) => key.of && key.name === name && name.includes('.'))?.field ?? fieldOf(list, name),
      engine,
    ),
  )
  if (shape.total !== undefined) columns.push(`(${shape.total}) as ${internalName('total')}`)
  const byColumns = order.map((key) => orderTerm(quote(key.field.column), key, engine))
  const select = (range?: Range): string => {
    const conditions = filterConditions(list, filters, statement)
    const isOwn = (index: number): boolean => order[index]!.of === undefined
    if (range) conditions.push(...rangeConditions(range, shape, afterFilters, statement, isOwn))
    if (!order[0]?.of) return `from ${quoteTable(list.table)}${where(conditions)}${limited(byColumns, rows)}`
    const most = from === 'offset' ? `${statement.offset(afterFilters)} + ${rows}` : String(rows)
    const joined = joinedRows(shape, conditions, most, engine)
    const ofOther = range
      ? rangeConditions(range, shape, afterFilters, statement, (index) => !isOwn(index))
      : []
    return `from ${joined}${where(ofOther)}${limited(byColumns, rows)}`
  }
  const read = `select ${columns.join(', ')}`
  if (from === 'start') return statement.plan(`${read} ${select()}`)
  if (from === 'offset') return statement.plan(`${read} ${select()} offset ${statement.value(afterFilters)}`)
  if (from === 'bucket') {
    const page = select({ equal: 0, next: { kind: 'after', keys: order.length } })
    return statement.plan(`${read} ${page} offset ${statement.value(afterFilters + order.length)}`)
  }
  const selects = rangesAfter(order, nulls, engine).map(select)
  // Nothing comes after a null key in a descending order of SQLite.
  if (selects.length === 0) selects.push(`from ${quoteTable(list.table)} where 1 = 0`)
  return statement.plan(
    selects.length === 1 ? `${read} ${selects[0]!}` : mergeRanges(selects, columns, shape, engine),
  )
}

/** Another table's column, by its name in `joinedRows`. */
function withAlias(key: SortKey, index: number): SortKey {
  return key.of ? { ...key, field: { ...key.field, column: internalName(`of${index}`) } } : key
}

/**
 * The list's rows, each with the row that it refers to. The other table is the outer one, in its order. For each of its rows, the list's
 * first rows are sought by `from`. Only these rows are sorted, and the limit bounds them.
 * @param most SQL for the maximum number of rows to seek for each row of the other table
 */
function joinedRows(
  { list, order }: QueryShape,
  conditions: readonly string[],
  most: string,
  engine: Engine,
): string {
  const of = order[0]!.of!
  const table = quoteTable(list.table)
  const [first, ...keys] = order.filter((key) => key.of)
  const aliases = keys.map(({ field }) => quote(field.column))
  const named = [fieldOf(list, first!.name).column, ...of.key].map(
    (column, index) => `${quote(column)} as ${internalName(`of${index}`)}`,
  )
  const refers = of.from.map((name, index) => `${quote(fieldOf(list, name).column)} = ${aliases[index]!}`)
  const own = order.filter((key) => !key.of).map((key) => orderTerm(quote(key.field.column), key, engine))
  const rest = `from ${table}${where([...refers, ...conditions])}${own.length > 0 ? ` order by ${own.join(', ')}` : ''} limit ${most}`
  const other = `(select ${named.join(', ')} from ${quoteTable(of.table)}) as ${internalName('other')}`
  if (engine === 'postgres') return `${other} cross join lateral (select * ${rest}) as ${internalName('own')}`
  const key = list.key.map((name) => quote(fieldOf(list, name).column)).join(', ')
  return `${other} cross join ${table} on (${key}) in (select ${key} ${rest})`
}

/** Merges the rows of several ranges. A column may sort in another way than its converted value, so each range reads both. */
function mergeRanges(
  selects: readonly string[],
  columns: readonly string[],
  { order, rows }: QueryShape,
  engine: Engine,
): string {
  const named = columns.map((column, index) => `${column} as ${internalName(`c${index}`)}`)
  const keys = order.map(({ field }, index) => `${quote(field.column)} as ${internalName(`k${index}`)}`)
  const ranges = selects.map(
    (sql, index) =>
      `select * from (select ${[...named, ...keys].join(', ')} ${sql}) as ${internalName(`range${index}`)}`,
  )
  const shown = columns.map((_, index) => internalName(`c${index}`))
  const byKeys = order.map((key, index) => orderTerm(internalName(`k${index}`), key, engine))
  return `select ${shown.join(', ')} from (${ranges.join(' union all ')}) as ${internalName('page')}${limited(byKeys, rows)}`
}

function limited(terms: readonly string[], rows: number): string {
  return ` order by ${terms.join(', ')} limit ${rows}`
}

export function planOf(sql: string, slots: readonly number[] = []): Plan {
  return { sql, slots, name: `list_${hash('sha256', sql, 'base64url').slice(0, 22)}` }
}

/** The statement that counts the rows that pass the filters, `countAtMost` at most, as `total`. */
export function planCount(list: ListDeclaration, filters: readonly AppliedFilter[], engine: Engine): Plan {
  const statement = new Statement(engine)
  const rows = `from ${quoteTable(list.table)}${where(filterConditions(list, filters, statement))}`
  return statement.plan(
    list.countAtMost === undefined
      ? `select count(*) as total ${rows}`
      : `select count(*) as total from (select 1 ${rows} limit ${list.countAtMost}) as counted`,
  )
}

/** Numbers the placeholders of a statement. They must be requested in the order in which they stand in its text. */
export class Statement {
  readonly engine: Engine
  readonly #slots: number[] = []

  constructor(engine: Engine) {
    this.engine = engine
  }

  /** The placeholder of the query's value at `index`, converted to the type of `field` if there is one. */
  value(index: number, field?: Field): string {
    this.#slots.push(index)
    const placeholder = this.engine === 'postgres' ? `$${this.#slots.length}` : '?'
    const bind = field && fieldTypes[field.type].bind?.[this.engine]
    return bind ? bind(placeholder) : placeholder
  }

  /** The same for a value that a row has (`storedValue`). SQLite compares it as it is. */
  stored(index: number, field: Field): string {
    return this.value(index, this.engine === 'postgres' ? field : undefined)
  }

  /** The placeholder of a number of rows to skip. */
  offset(index: number): string {
    return this.engine === 'postgres' ? `${this.value(index)}::bigint` : this.value(index)
  }

  plan(sql: string): Plan {
    return planOf(sql, this.#slots)
  }
}

/** The SQL expression that reads a field. */
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
  isMeant: (index: number) => boolean,
): string[] {
  const column = (index: number): string => orderedColumn(order[index]!.field)
  const compare = (index: number, operator: string): string =>
    comparison(order[index]!.field, operator, value(index), column(index))
  const value = (index: number): string => statement.stored(firstValue + index, order[index]!.field)
  const conditions = order
    .slice(0, equal)
    .flatMap((_, index) =>
      isMeant(index) ? [nulls[index] ? `${column(index)} is null` : compare(index, '=')] : [],
    )
  if (!isMeant(equal)) return conditions
  if (next.kind !== 'after') return [...conditions, `${column(equal)} is ${next.kind}`]
  const keys = Array.from({ length: next.keys }, (_, index) => equal + index)
  const operator = `${order[equal]!.descending ? '<' : '>'}${from === 'bucket' ? '=' : ''}`
  if (keys.length === 1) return [...conditions, compare(equal, operator)]
  return [...conditions, `(${keys.map(column).join(', ')}) ${operator} (${keys.map(value).join(', ')})`]
}

export function filterConditions(
  list: ListDeclaration,
  filters: readonly AppliedFilter[],
  statement: Statement,
): string[] {
  let next = 0
  const conditionOf = (applied: AppliedFilter): string => {
    // A condition need not use all of its values.
    let slot = next
    next += applied.values.length
    const { filter } = applied
    const field = comparedField(list, filter)
    const plain = quote(field.column)
    const column = filter.member === undefined ? plain : memberColumn(plain, filter.member, statement.engine)
    return rulesOf(filter).sql({
      column,
      value: () => statement.value(slot++, field),
      compare: (operator, value) =>
        comparison(field, operator, value, operator === '=' ? column : collated(column, field.collation)),
      plain: () => statement.value(slot++),
      engine: statement.engine,
      table: list.table,
      field,
      applied,
    })
  }
  const alternatives: { group: string | undefined; conditions: string[] }[] = []
  for (const applied of filters) {
    const { group } = applied.filter
    const last = alternatives.at(-1)
    if (last && group !== undefined && last.group === group) last.conditions.push(conditionOf(applied))
    else alternatives.push({ group, conditions: [conditionOf(applied)] })
  }
  return alternatives.map(({ conditions }) =>
    conditions.length === 1 ? conditions[0]! : `((${conditions.join(') or (')}))`,
  )
}

export function where(conditions: readonly string[]): string {
  return conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
}

function orderTerm(column: string, key: SortKey, engine: Engine): string {
  return `${collated(column, key.field.collation)}${key.descending ? ' desc' : ''}${isOpposed(key, engine) ? ` nulls ${key.nulls!}` : ''}`
}

/** Rows that equal a position in the first keys and come after it in the next ones. */
interface Range {
  /** The number of keys that equal the position's. Null equals null here. */
  equal: number
  /** `after`: the next keys, which have one direction, compare as a row value. Otherwise the next key is null, or not null. */
  next: { kind: 'after'; keys: number } | { kind: 'null' | 'not null' }
}

/**
 * The rows after a position, as ranges of an index in this order, nearest first. Each change of direction adds a range, and so
 * does each key that may be null.
 *
 * Unless the order places them, nulls sort as in the engine's indexes: above all values on PostgreSQL, below all values on SQLite.
 * @param nulls which of the position's values are null.
 */
function rangesAfter(order: readonly SortKey[], nulls: readonly boolean[], engine: Engine): Range[] {
  const ranges: Range[] = []
  let start = 0
  while (start < order.length) {
    const first = order[start]!
    const isBeforeNulls = nullsComeAfter(first, engine)
    if (nulls[start]) {
      if (!isBeforeNulls) ranges.push({ equal: start, next: { kind: 'not null' } })
      start += 1
      continue
    }
    let end = start + 1
    // A comparison of row values with a null is neither true nor false, so a nullable key begins a range of its own. It has one
    // operator, so a key whose operators are in another schema is a range of its own, and SQLite seeks it only by bare columns.
    const mayBeNull = (index: number): boolean => order[index]!.field.nullable || nulls[index] === true
    const isAlone = (index: number): boolean => {
      const { operators, collation } = order[index]!.field
      return operators !== undefined || (collation !== undefined && engine === 'sqlite')
    }
    const joins = (index: number): boolean =>
      order[index]!.descending === first.descending &&
      order[index]!.of === first.of &&
      !mayBeNull(index) &&
      !isAlone(index)
    if (!isAlone(start)) while (end < order.length && joins(end)) end += 1
    if (first.field.nullable && isBeforeNulls) ranges.push({ equal: start, next: { kind: 'null' } })
    ranges.push({ equal: start, next: { kind: 'after', keys: end - start } })
    start = end
  }
  return ranges.toReversed()
}
