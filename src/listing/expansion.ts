import { oncePer } from '../runtime/bounded-cache.ts'
import type { Engine } from '../storage/query-runner.ts'
import {
  comparison,
  type Expansion,
  type Field,
  fieldOf,
  orderedColumn,
  shownFields,
  sortKeyOf,
} from './list.ts'
import { quote, quoteTable } from '../storage/sql-text.ts'
import { internalName, type Plan, readColumn, Statement } from './plan.ts'
import type { KeyValue } from '../paging/cursor.ts'
import { oneOf } from './filters.ts'
import { type Item, presenter, type Revision } from './items.ts'
import { storedValue } from './field-types.ts'
import type { Query } from './query.ts'
import type { ListReader, Row } from './standby-reader.ts'

/** Values in one statement in which each value has a seek of its own. */
const seeksPerStatement = 128

/** The distinct keys that rows refer to. */
interface Keys {
  names: readonly string[]
  /** As many for each name as the key has columns. */
  values: readonly KeyValue[]
}

/** The value of an expansion in an item. */
type Expanded = Item | null | { data: Item[]; hasMore: boolean }

/**
 * Turns the rows of a page into items with their expansions. Each expansion is read by one statement, or by one for each 128
 * items if it may have many rows.
 */
export class Presentation {
  readonly #engine: Engine
  readonly #reader: ListReader
  readonly #plans = oncePer<Expansion, Map<string, Plan>>(() => new Map())

  constructor(engine: Engine, reader: ListReader) {
    this.#engine = engine
    this.#reader = reader
  }

  /** Reads the expansions of the rows, and returns the function that turns a row into its item. */
  async of(query: Query, rows: readonly Row[], revision?: Revision): Promise<(row: Row) => Item> {
    const { list, shown, expand, columns } = query
    const presentOwn = presenter(list.fields, shown)
    const revise = revision && (await revision())
    const present = revise ? (row: Row): Item => revise(presentOwn(row)) : presentOwn
    if (expand.length === 0) return present
    const parts = await Promise.all(
      expand.map(async (expansion) => {
        const positions = expansion.from.map((name) => columns.indexOf(name))
        const keys = keysOf(rows, positions)
        const others = seeksEach(expansion)
          ? await this.#readEach(query, expansion, keys)
          : await this.#readOne(query, expansion, keys)
        return { expansion, positions, others }
      }),
    )
    return (row) => {
      const item = present(row)
      for (const { expansion, positions, others } of parts) {
        item[expansion.name] = others.get(keyName(row, positions)) ?? emptyValue(expansion)
      }
      return item
    }
  }

  /** Returns the values of the expansion by the name of their key. */
  async #readOne(query: Query, expansion: Expansion, keys: Keys): Promise<ReadonlyMap<string, Expanded>> {
    if (keys.values.length === 0) return new Map()
    const { values, variant } = oneOf(keys.values)
    const from = fieldOf(query.list, expansion.from[0]!)
    const plan = this.#plan(expansion, variant, () => planOne(expansion, [from], values.length, this.#engine))
    const compared = values.map((value) => comparable(from, value))
    const found = await this.#reader.read(plan, compared, query)
    const present = presenter(expansion.fields)
    return new Map(found.map(([key, ...row]) => [nameOf(key!), present(row)]))
  }

  /** The same for expansions that need a seek for each value. */
  async #readEach(query: Query, expansion: Expansion, keys: Keys): Promise<ReadonlyMap<string, Expanded>> {
    const from = expansion.from.map((name) => fieldOf(query.list, name))
    const present = presenter(expansion.fields)
    const { many } = expansion
    const items = new Map<string, Item[]>()
    for (let first = 0; first < keys.names.length; first += seeksPerStatement) {
      const size = 2 ** Math.ceil(Math.log2(Math.min(seeksPerStatement, keys.names.length - first)))
      const plan = this.#plan(expansion, String(size), () => planEach(expansion, from, size, this.#engine))
      // The rest is null, which equals no key.
      const values = Array.from({ length: size * from.length }, (_, index) =>
        comparable(from[index % from.length]!, keys.values[first * from.length + index] ?? null),
      )
      for (const [index, ...row] of await this.#reader.read(plan, values, query)) {
        const name = keys.names[first + Number(index)]!
        const others = items.get(name)
        if (others) others.push(present(row))
        else items.set(name, [present(row)])
      }
    }
    const show = (others: Item[]): Expanded =>
      many ? { data: others.slice(0, many.limit), hasMore: others.length > many.limit } : others[0]!
    return new Map([...items].map(([name, others]) => [name, show(others)]))
  }

  #plan(expansion: Expansion, variant: string, make: () => Plan): Plan {
    const plans = this.#plans(expansion)
    let plan = plans.get(variant)
    if (!plan) plans.set(variant, (plan = make()))
    return plan
  }
}

/** The value of `from` in a row, as it is compared with the key of the other table. */
function comparable(from: Field, value: KeyValue): KeyValue {
  return from.mixed ? storedValue(from, value) : value
}

/** Names a key. It has no type: PostgreSQL may return one integer as a number and as a text. */
function nameOf(key: KeyValue): string {
  if (key === null) return 'null'
  return typeof key === 'object' ? `blob ${Buffer.from(key).toString('hex')}` : `= ${key}`
}

/** Identifies a row's key at these positions. A key with a null value counts as null. */
function keyName(row: Row, positions: readonly number[]): string {
  if (positions.length === 1) return nameOf(row[positions[0]!]!)
  const names = positions.map((position) => nameOf(row[position]!))
  return names.includes(nameOf(null)) ? nameOf(null) : JSON.stringify(names)
}

/** The rows' keys without null, which refers to no row. The text `null` may be a key. */
function keysOf(rows: readonly Row[], positions: readonly number[]): Keys {
  const names = new Set<string>()
  const values: KeyValue[] = []
  for (const row of rows) {
    const name = keyName(row, positions)
    if (name === nameOf(null) || names.has(name)) continue
    names.add(name)
    for (const position of positions) values.push(row[position]!)
  }
  return { names: [...names], values }
}

function emptyValue({ many }: Expansion): Expanded {
  return many ? { data: [], hasMore: false } : null
}

/** Whether each value needs a separate seek (planEach). */
export function seeksEach({ many, loose, key }: Expansion): boolean {
  return many !== undefined || loose === true || key.length > 1
}

/** The rows whose key, of one column, is one of `count` values. The first column is the key. */
export function planOne(expansion: Expansion, from: readonly Field[], count: number, engine: Engine): Plan {
  const statement = new Statement(engine)
  const key = keyField(expansion, from, 0)
  const placeholders = Array.from({ length: count }, (_, index) => statement.stored(index, key))
  return statement.plan(
    `select ${[readColumn(key, engine), ...shownColumns(expansion, engine)].join(', ')} from ${quoteTable(expansion.table)}` +
      ` where ${quote(key.column)} in (${placeholders.join(', ')})`,
  )
}

/**
 * For each of `count` values, the first rows whose key equals it, one more than are shown. The first column is the index of the
 * value: the key may be written differently. Each value has a seek with a limit of its own, so that a value with thousands of rows
 * costs no more than the others.
 */
export function planEach(expansion: Expansion, from: readonly Field[], count: number, engine: Engine): Plan {
  const statement = new Statement(engine)
  const columns = shownColumns(expansion, engine).map(
    (column, index) => `${column} as ${internalName(`c${index}`)}`,
  )
  const equalsKey = (seek: number): string =>
    from
      .map((_, part) => {
        const key = keyField(expansion, from, part)
        return comparison(key, '=', statement.stored(seek * from.length + part, key))
      })
      .join(' and ')
  const seeks = Array.from(
    { length: count },
    (_, index) =>
      `select * from (select ${[`${index} as ${internalName('index')}`, ...columns].join(', ')} from ${quoteTable(expansion.table)}` +
      ` where ${equalsKey(index)}${limitOf(expansion)}) as ${internalName(`of${index}`)}`,
  )
  return statement.plan(seeks.join(' union all '))
}

function limitOf(expansion: Expansion): string {
  const { many } = expansion
  if (!many) return ' limit 1'
  const terms = many.order
    .map((text) => sortKeyOf(expansion, text))
    .map(({ field, descending }) => `${orderedColumn(field)}${descending ? ' desc' : ''}`)
  return ` order by ${terms.join(', ')} limit ${many.limit + 1}`
}

function shownColumns({ fields }: Expansion, engine: Engine): string[] {
  return shownFields(fields).map((name) => readColumn(fields[name]!, engine))
}

/** A column of the other table's key, with the type of the list's field and its own operators. */
const keyField = ({ key, operators }: Expansion, from: readonly Field[], part: number): Field => ({
  ...from[part]!,
  column: key[part]!,
  operators: operators?.[part],
})
