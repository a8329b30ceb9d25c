import type { KeyValue } from '../paging/cursor.ts'
import type { Engine } from '../storage/query-runner.ts'
import { oneOf } from './filters.ts'
import { itemPresenter, presenter, type Item } from './items.ts'
import { fieldOf, shownFields, type Expansion, type Field, type ListDeclaration } from './list.ts'
import { quote, quoteTable } from './names.ts'
import { readColumn, Statement, type Plan } from './plan.ts'
import type { Query } from './query.ts'
import type { ListReader, Row } from './store.ts'

/** Turns the rows of a page into items, with the rows of other tables that they name: one statement for each expansion. */
export class Presentation {
  readonly #engine: Engine
  readonly #reader: ListReader
  readonly #plans = new WeakMap<Expansion, Map<string, Plan>>()

  constructor(engine: Engine, reader: ListReader) {
    this.#engine = engine
    this.#reader = reader
  }

  async of({ list, shown, expand, columns }: Query, rows: readonly Row[]): Promise<(row: Row) => Item> {
    const present = shown === shownFields(list.fields) ? itemPresenter(list) : presenter(list.fields, shown)
    if (expand.length === 0) return present
    const parts = await Promise.all(
      expand.map(async (expansion) => {
        const position = columns.indexOf(expansion.from)
        return { expansion, position, others: await this.#readOthers(list, expansion, position, rows) }
      }),
    )
    return (row) => {
      const item = present(row)
      for (const { expansion, position, others } of parts)
        item[expansion.name] = others.get(String(row[position])) ?? null
      return item
    }
  }

  async #readOthers(
    list: ListDeclaration,
    expansion: Expansion,
    position: number,
    rows: readonly Row[],
  ): Promise<ReadonlyMap<string, Item>> {
    const wanted = new Set<KeyValue>(rows.map((row) => row[position]!))
    wanted.delete(null)
    if (wanted.size === 0) return new Map()
    const { values, variant } = oneOf([...wanted])
    const found = await this.#reader.read(this.#plan(list, expansion, values.length, variant), values)
    const present = presenter(expansion.fields)
    return new Map(found.map(([key, ...row]) => [String(key), present(row)]))
  }

  #plan(list: ListDeclaration, expansion: Expansion, count: number, variant: string): Plan {
    let plans = this.#plans.get(expansion)
    if (!plans) this.#plans.set(expansion, (plans = new Map()))
    let plan = plans.get(variant)
    if (!plan) {
      plan = planExpansion(expansion, fieldOf(list, expansion.from), count, this.#engine)
      plans.set(variant, plan)
    }
    return plan
  }
}

/** The rows whose key is one of the values; the key comes first. */
export function planExpansion(expansion: Expansion, from: Field, count: number, engine: Engine): Plan {
  const statement = new Statement(engine)
  const key: Field = { ...from, column: expansion.key }
  const shown = shownFields(expansion.fields).map((name) => readColumn(expansion.fields[name]!, engine))
  const places = Array.from({ length: count }, (_, index) => statement.value(index, key))
  return statement.plan(
    `select ${[readColumn(key, engine), ...shown].join(', ')} from ${quoteTable(expansion.table)}` +
      ` where ${quote(expansion.key)} in (${places.join(', ')})`,
  )
}
