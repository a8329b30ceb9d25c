import type { Cursors, CursorKey, CursorScope, KeyValue } from '../paging/cursor.ts'
import { readLimit, readPage } from '../paging/limit.ts'
import type { Engine } from '../storage/query-runner.ts'
import { readFilters, type FilterReading } from './filters.ts'
import type { ListDeclaration, SortKey } from './list.ts'
import { readOrder, writeOrder } from './order.ts'
import { planCount, planPage, type Plan, type QueryShape } from './plan.ts'
import type { ListReader, Row } from './store.ts'

/** The query string, each parameter once. */
export type Parameters = Readonly<Record<string, string>>

export interface CursorPage {
  rows: readonly Row[]
  limit: number
  /** Where the next page begins; null when this is the last one. */
  nextCursor: string | null
}

export interface OffsetPage {
  rows: readonly Row[]
  page: number
  limit: number
  total: number
}

/** Plans kept; the oldest is made anew when it is asked for again. */
const mostPlans = 1_000

/** Reads pages of lists: from the parameters of a query string to the rows. */
export class Pages {
  readonly #engine: Engine
  readonly #reader: ListReader
  readonly #cursors: Cursors
  readonly #plans = new Map<string, Plan>()

  constructor(engine: Engine, reader: ListReader, cursors: Cursors) {
    this.#engine = engine
    this.#reader = reader
    this.#cursors = cursors
  }

  /** @throws Problem `invalid-cursor` for a cursor that was not issued for this list, these filters and this order. */
  async byCursor(list: ListDeclaration, parameters: Parameters): Promise<CursorPage> {
    const filters = readFilters(list.filters, list.fields, parameters)
    const order = readOrder(list, parameters['sort'])
    const limit = readLimit(parameters['limit'], list.limit)
    const scope = scopeOf(list, filters, order)
    const cursor = parameters['cursor']
    const key = cursor === undefined ? [] : this.#cursors.decode(scope, cursor)
    if (filters.empty) return { rows: [], limit, nextCursor: null }

    // One row more than asked for tells whether a page follows.
    const from = cursor === undefined ? 'start' : 'key'
    const plan = this.#planPage({ list, filters: filters.applied, order, rows: limit + 1, from })
    const found = await this.#reader.read(plan, [...valuesOf(filters), ...key])
    if (found.length <= limit) return { rows: found, limit, nextCursor: null }
    const rows = found.slice(0, limit)
    const last = rows.at(-1)!
    return {
      rows,
      limit,
      nextCursor: this.#cursors.encode(
        scope,
        order.map(({ position }) => last[position]!),
      ),
    }
  }

  async byOffset(list: ListDeclaration, parameters: Parameters): Promise<OffsetPage> {
    const filters = readFilters(list.filters, list.fields, parameters)
    const order = readOrder(list, parameters['sort'])
    const limit = readLimit(parameters['limit'], list.limit)
    const page = readPage(parameters['page'])
    if (filters.empty) return { rows: [], page, limit, total: 0 }

    const count = this.#kept(`count ${shapeOf(list, filters)}`, () =>
      planCount(list, filters.applied, this.#engine),
    )
    const values = valuesOf(filters)
    const [row] = await this.#reader.read(count, values)
    const total = Number(row![0])
    const offset = (page - 1) * limit
    if (offset >= total) return { rows: [], page, limit, total }
    const plan = this.#planPage({ list, filters: filters.applied, order, rows: limit, from: 'offset' })
    return { rows: await this.#reader.read(plan, [...values, offset]), page, limit, total }
  }

  #planPage(shape: QueryShape): Plan {
    const { list, filters, order, rows, from } = shape
    const name = `${from} ${rows} ${shapeOf(list, { applied: filters })} ${writeOrder(order).join(',')}`
    return this.#kept(name, () => planPage(shape, this.#engine))
  }

  #kept(name: string, make: () => Plan): Plan {
    const known = this.#plans.get(name)
    if (known) return known
    const plan = make()
    this.#plans.set(name, plan)
    if (this.#plans.size > mostPlans) this.#plans.delete(this.#plans.keys().next().value!)
    return plan
  }
}

function shapeOf(list: ListDeclaration, { applied }: Pick<FilterReading, 'applied'>): string {
  return `${list.name} ${applied.map(({ filter }) => filter.parameter).join(',')}`
}

function valuesOf({ applied }: FilterReading): KeyValue[] {
  return applied.flatMap(({ values }) => values)
}

function scopeOf(
  list: ListDeclaration,
  { fingerprint }: FilterReading,
  order: readonly SortKey[],
): CursorScope {
  const keys = order.map(({ name, field }): CursorKey => ({ name, type: cursorTypes[field.type] }))
  return { list: list.name, keys, query: [writeOrder(order), fingerprint, list.access] }
}

const cursorTypes = {
  text: 'text',
  number: 'number',
  integer: 'integer',
  time: 'time',
  milliseconds: 'integer',
} as const
