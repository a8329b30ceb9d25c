import type { KeyValue } from '../paging/cursor-values.ts'
import type { Engine } from '../storage/query-runner.ts'
import { planEach, planOne } from './expansion-plan.ts'
import { oneOf } from './filters.ts'
import { presenter, type Item } from './items.ts'
import { fieldOf, type Expansion, type ListDeclaration } from './list.ts'
import type { Plan } from './plan.ts'
import type { Query } from './query.ts'
import type { ListReader, Row } from './reader.ts'

/** Items whose other rows are read by one statement, where each value is sought by itself. */
const itemsAtOnce = 128

/** What an item shows of other rows. */
type Shown = Item | null | { data: Item[]; hasMore: boolean }

/**
 * Turns the rows of a page into items, with the rows of other tables that they name or that name them: one statement for each
 * expansion, and for each 128 items where these may have many.
 */
export class Presentation {
  readonly #engine: Engine
  readonly #reader: ListReader
  readonly #plans = new WeakMap<Expansion, Map<string, Plan>>()

  constructor(engine: Engine, reader: ListReader) {
    this.#engine = engine
    this.#reader = reader
  }

  async of({ list, shown, expand, columns }: Query, rows: readonly Row[]): Promise<(row: Row) => Item> {
    const present = presenter(list.fields, shown)
    if (expand.length === 0) return present
    const parts = await Promise.all(
      expand.map(async (expansion) => {
        const position = columns.indexOf(expansion.from)
        const wanted = new Set<KeyValue>(rows.map((row) => row[position]!))
        wanted.delete(null)
        return { expansion, position, others: await this.#readOthers(list, expansion, [...wanted]) }
      }),
    )
    return (row) => {
      const item = present(row)
      for (const { expansion, position, others } of parts)
        item[expansion.name] = others.get(String(row[position])) ?? noneOf(expansion)
      return item
    }
  }

  #readOthers(
    list: ListDeclaration,
    expansion: Expansion,
    wanted: readonly KeyValue[],
  ): Promise<ReadonlyMap<string, Shown>> {
    return expansion.many || expansion.loose
      ? this.#readEach(list, expansion, wanted)
      : this.#readOne(list, expansion, wanted)
  }

  async #readOne(
    list: ListDeclaration,
    expansion: Expansion,
    wanted: readonly KeyValue[],
  ): Promise<ReadonlyMap<string, Shown>> {
    if (wanted.length === 0) return new Map()
    const { values, variant } = oneOf(wanted)
    const from = fieldOf(list, expansion.from)
    const plan = this.#plan(expansion, variant, () => planOne(expansion, from, values.length, this.#engine))
    const found = await this.#reader.read(plan, values)
    const present = presenter(expansion.fields)
    return new Map(found.map(([key, ...row]) => [String(key), present(row)]))
  }

  async #readEach(
    list: ListDeclaration,
    expansion: Expansion,
    wanted: readonly KeyValue[],
  ): Promise<ReadonlyMap<string, Shown>> {
    const from = fieldOf(list, expansion.from)
    const present = presenter(expansion.fields)
    const { many } = expansion
    const items = new Map<string, Item[]>()
    for (let first = 0; first < wanted.length; first += itemsAtOnce) {
      const some = wanted.slice(first, first + itemsAtOnce)
      const size = 2 ** Math.ceil(Math.log2(some.length))
      const plan = this.#plan(expansion, String(size), () => planEach(expansion, from, size, this.#engine))
      // Nothing equals null.
      const values = Array.from({ length: size }, (_, index) => some[index] ?? null)
      for (const [place, ...row] of await this.#reader.read(plan, values)) {
        const name = String(some[Number(place)])
        const others = items.get(name)
        if (others) others.push(present(row))
        else items.set(name, [present(row)])
      }
    }
    const show = (others: Item[]): Shown =>
      many ? { data: others.slice(0, many.limit), hasMore: others.length > many.limit } : others[0]!
    return new Map([...items].map(([name, others]) => [name, show(others)]))
  }

  #plan(expansion: Expansion, variant: string, make: () => Plan): Plan {
    let plans = this.#plans.get(expansion)
    if (!plans) this.#plans.set(expansion, (plans = new Map()))
    let plan = plans.get(variant)
    if (!plan) plans.set(variant, (plan = make()))
    return plan
  }
}

function noneOf({ many }: Expansion): Shown {
  return many ? { data: [], hasMore: false } : null
}
