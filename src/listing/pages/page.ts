import { storedValue } from '../field-types.ts'
import type { KeyValue } from '../../paging/cursor-values.ts'
import type { SortKey } from '../list.ts'
import type { Query } from '../query.ts'
import type { Row } from '../reader.ts'
import type { PageStyle } from '../config.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { reversed, writeOrder } from '../order.ts'
import { planCount, planPage, type Plan, type QueryShape } from '../plan.ts'

interface PageOf<Style extends PageStyle> {
  style: Style
  query: Query
  rows: readonly Row[]
  limit: number
}

export interface CursorPage extends PageOf<'cursor'> {
  /** `null` on the last page. */
  nextCursor: string | null
  /** `null` on the first page, and in lists that only go forward. */
  previousCursor: string | null
}

export interface KeysetPage extends PageOf<'keyset'> {
  /** The key of the last item; `null` on the last page. */
  nextCursor: string | number | null
}

export interface OffsetPage extends PageOf<'offset'> {
  page: number
  hasNext: boolean
  /** `undefined` when rows were not counted. */
  total: number | undefined
  estimated: boolean
}

export type Page = CursorPage | KeysetPage | OffsetPage

/** The values of the order's keys in a row, as cursors hold them. */
export function keyOf(query: Query, order: readonly SortKey[], row: Row): KeyValue[] {
  return order.map(({ name, field }) => storedValue(field, row[query.columns.indexOf(name)]!))
}

/** Plans in the cache; beyond them, the oldest one is dropped. */
const cacheSize = 1_000

interface PageShape {
  rows: number
  from: QueryShape['from']
  order?: readonly SortKey[]
  key?: readonly KeyValue[] | undefined
  total?: string
}

/** The statements of pages, one for all queries that differ only in values. */
export class PagePlans {
  readonly #engine: Engine
  readonly #cache = new BoundedCache<string, Plan>(cacheSize)

  constructor(engine: Engine) {
    this.#engine = engine
  }

  page(query: Query, { rows, from, order = query.order, key, total }: PageShape): Plan {
    const { list, filters, columns, shape } = query
    const nulls = key?.map((value) => value === null)
    const mask = nulls?.includes(true) ? nulls.map((isNull) => (isNull ? 'n' : 'v')).join('') : ''
    const name = `${from} ${rows} ${mask} ${total ?? ''} ${shape} ${writeOrder(order).join(',')}`
    return this.#cached(name, () =>
      planPage({ list, filters, columns, order, rows, from, total, ...(nulls && { nulls }) }, this.#engine),
    )
  }

  /** The rows after a key, or from the beginning without one. @param backward against the query's order. */
  after(query: Query, key: readonly KeyValue[] | undefined, rows: number, backward = false): Plan {
    const order = backward ? reversed(query.order) : query.order
    return this.page(query, { rows, from: key ? 'key' : 'start', order, key })
  }

  count({ list, filters, shape }: Query): Plan {
    return this.#cached(`count ${shape}`, () => planCount(list, filters, this.#engine))
  }

  #cached(name: string, make: () => Plan): Plan {
    const known = this.#cache.get(name)
    if (known) return known
    const plan = make()
    this.#cache.set(name, plan)
    return plan
  }
}
