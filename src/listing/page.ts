import { Problem } from '../errors.ts'
import type { Cursors, KeyValue } from '../paging/cursor.ts'
import { readPage } from '../paging/limit.ts'
import { Recent } from '../paging/recent.ts'
import type { Engine } from '../storage/query-runner.ts'
import { fieldTypes } from './field-types.ts'
import { shallow, type KeptCounts } from './kept/kept-counts.ts'
import { readKeysetCursor, showKeysetCursor } from './keyset-cursor.ts'
import type { PageStyle, SortKey } from './list.ts'
import { reversed, standingOrder, writeOrder } from './order.ts'
import { planCount, planPage, type Plan, type QueryShape } from './plan.ts'
import type { Query } from './query.ts'
import type { ListReader, Row } from './store.ts'
import { readCount, type Counting, type Total } from './total.ts'

interface PageOf<Style extends PageStyle> {
  style: Style
  query: Query
  rows: readonly Row[]
  limit: number
}

export interface CursorPage extends PageOf<'cursor'> {
  /** Where the next page begins; null when this is the last one. */
  nextCursor: string | null
  /** The same for the page before; null on the first one, and in lists that go forward only. */
  previousCursor: string | null
}

export interface KeysetPage extends PageOf<'keyset'> {
  /** The last item's key, when more items follow. */
  nextCursor: string | number | null
}

export interface OffsetPage extends PageOf<'offset'> {
  page: number
  hasNext: boolean
  /** `undefined` when nobody asked how many there are. */
  total: number | undefined
  estimated: boolean
}

export type Page = CursorPage | KeysetPage | OffsetPage

/** Plans kept; the oldest is made anew when it is asked for again. */
const mostPlans = 1_000

/** Reads pages of lists: from a query to the rows. */
export class Pages {
  readonly #engine: Engine
  readonly #reader: ListReader
  readonly #cursors: Cursors
  readonly #kept: ReadonlyMap<string, KeptCounts>
  readonly #plans = new Recent<string, Plan>(mostPlans)
  readonly #readings = new WeakMap<Query, Reading>()

  /** @param kept what is kept of some lists, by their names. */
  constructor(
    engine: Engine,
    reader: ListReader,
    cursors: Cursors,
    kept: ReadonlyMap<string, KeptCounts> = new Map(),
  ) {
    this.#engine = engine
    this.#kept = kept
    this.#reader = reader
    this.#cursors = cursors
  }

  /** The page that a query asks for. @throws Problem that names the parameter for a cursor that is not one. */
  read(query: Query): Promise<Page> {
    const style = styleOf(query)
    if (style === 'offset') return this.byOffset(query)
    return style === 'keyset' ? this.byKey(query) : this.byCursor(query)
  }

  /** @throws Problem `invalid-cursor` for a cursor that was not issued for this list, these filters and this order. */
  async byCursor(query: Query): Promise<CursorPage> {
    const { limit, scope, backward, order } = query
    const { plan, values, way } = this.#readingOf(query)
    const page = { style: 'cursor', query, limit } as const
    if (query.empty) return { ...page, rows: [], nextCursor: null, previousCursor: null }

    const found = await this.#reader.read(plan, values)
    // One row more than asked for tells whether a page follows.
    const more = found.length > limit
    const rows = more ? found.slice(0, limit) : [...found]
    if (way === 'back') rows.reverse()
    const before = way === 'back' ? more : way === 'on'
    const after = way === 'back' ? true : more
    const cursorAt = (row: Row | undefined, of: typeof scope): string | null =>
      row === undefined ? null : this.#cursors.encode(of, keyOf(query, order, row))
    return {
      ...page,
      rows,
      nextCursor: after ? cursorAt(rows.at(-1), scope) : null,
      previousCursor: backward && before ? cursorAt(rows[0], backward) : null,
    }
  }

  /** By the key itself, which no signature protects. @throws Problem `invalid-cursor` for what is none. */
  async byKey(query: Query): Promise<KeysetPage> {
    const { list, limit, order, parameters } = query
    const cursor = parameters['cursor']
    const key = cursor === undefined ? undefined : [readKeysetCursor(order[0]!.field, cursor)]
    const found = query.empty ? [] : await this.rowsBehind(query, key, limit + 1)
    const rows = found.slice(0, limit)
    const last = found.length > limit ? rows.at(-1)![query.columns.indexOf(list.key)]! : null
    const nextCursor = last === null ? null : showKeysetCursor(order[0]!.field, last)
    return { style: 'keyset', query, rows, limit, nextCursor }
  }

  async byOffset(query: Query): Promise<OffsetPage> {
    const { list, limit, values, parameters } = query
    const page = readPage(parameters['page'])
    const offset = (page - 1) * limit
    const counting = readCount(list, parameters['count'])
    const kept = query.filters.length === 0 ? this.#kept.get(list.name) : undefined
    const landing = kept && offset >= shallow && inStandingOrder(query) ? await kept.land(offset) : undefined
    if (!landing && !query.empty && kept?.totalSql !== undefined && counting !== 'none')
      return this.#withTotal(query, page, kept, kept.totalSql)
    const { total, estimated } = landing
      ? { total: counting === 'none' ? undefined : landing.total, estimated: false }
      : await this.#count(query, counting, kept)
    const known = { style: 'offset', query, page, limit, total, estimated } as const
    const exact = total !== undefined && !estimated
    if (query.empty || (exact && offset >= total)) return { ...known, rows: [], hasNext: false }

    const key = landing?.key
    const rows = exact ? limit : limit + 1
    const plan = this.#planPage(query, { rows, from: key ? 'landing' : beginningOf(page), key })
    const place = key ? [...key, landing.skip] : [offset]
    const found = await this.#reader.read(plan, [...values, ...place])
    const hasNext = exact ? page * limit < total : found.length > limit
    return { ...known, rows: found.slice(0, limit), hasNext }
  }

  /** A page and its total by one statement, which sees one moment; behind the last page there is no row to tell the total. */
  async #withTotal(query: Query, page: number, kept: KeptCounts, totalSql: string): Promise<OffsetPage> {
    const { limit, values } = query
    const plan = this.#planPage(query, { rows: limit, from: beginningOf(page), total: totalSql })
    const rows = await this.#reader.read(plan, [...values, (page - 1) * limit])
    const total = rows.length > 0 ? Number(rows[0]![query.columns.length]) : await kept.total()
    const hasNext = page * limit < total
    return {
      style: 'offset',
      query,
      page,
      limit,
      total,
      estimated: false,
      rows,
      hasNext,
    }
  }

  /** The rows behind a position of the order, or from its beginning. */
  async rowsBehind(
    query: Query,
    key: readonly KeyValue[] | undefined,
    rows: number,
    wanted?: AbortSignal,
  ): Promise<readonly Row[]> {
    return this.#reader.read(
      this.#planBehind(query, key, rows, false),
      [...query.values, ...(key ?? [])],
      wanted,
    )
  }

  #planBehind(query: Query, key: readonly KeyValue[] | undefined, rows: number, backward: boolean): Plan {
    const order = backward ? reversed(query.order) : query.order
    return this.#planPage(query, { rows, from: key ? 'key' : 'start', order, key })
  }

  /** Queries are kept (queries.ts), and with them what follows from their cursors. */
  #readingOf(query: Query): Reading {
    let reading = this.#readings.get(query)
    if (!reading) {
      const cursor = query.parameters['cursor']
      const place = cursor === undefined ? undefined : this.#decode(query, cursor)
      const { key, backward = false } = place ?? {}
      reading = {
        plan: this.#planBehind(query, key, query.limit + 1, backward),
        values: [...query.values, ...(key ?? [])],
        way: place ? (backward ? 'back' : 'on') : 'start',
      }
      this.#readings.set(query, reading)
    }
    return reading
  }

  async #count(query: Query, counting: Counting, kept: KeptCounts | undefined): Promise<Total> {
    if (counting === 'none') return { total: undefined, estimated: false }
    if (query.empty) return { total: 0, estimated: false }
    if (kept) return { total: await kept.total(), estimated: false }
    const { list, filters, values } = query
    const plan = this.#planFor(`count ${query.shape}`, () => planCount(list, filters, this.#engine))
    if (counting === 'estimate') return this.#reader.estimate(plan, values)
    const [row] = await this.#reader.read(plan, values)
    return { total: Number(row![0]), estimated: false }
  }

  #decode({ scope, backward }: Query, cursor: string): { key: readonly KeyValue[]; backward: boolean } {
    const scopes = backward ? [scope, backward] : [scope]
    const { values, which } = this.#cursors.decodeOneOf(scopes, cursor)
    return { key: values, backward: which === 1 }
  }

  #planPage(query: Query, shape: Shape): Plan {
    const { list, filters, columns } = query
    const { rows, from, order = query.order, key, total } = shape
    const nulls = key?.map((value) => value === null)
    const mask = nulls?.includes(true) ? nulls.map((isNull) => (isNull ? 'n' : 'v')).join('') : ''
    const name = `${from} ${rows} ${mask} ${total ?? ''} ${query.shape} ${writeOrder(order).join(',')}`
    return this.#planFor(name, () =>
      planPage(
        {
          list,
          filters,
          columns,
          order,
          rows,
          from,
          total,
          ...(nulls && { nulls }),
        },
        this.#engine,
      ),
    )
  }

  #planFor(name: string, make: () => Plan): Plan {
    const known = this.#plans.get(name)
    if (known) return known
    const plan = make()
    this.#plans.set(name, plan)
    return plan
  }
}

/** The statement of a page by cursor, and which way it goes from the cursor's place. */
interface Reading {
  plan: Plan
  values: readonly KeyValue[]
  way: 'start' | 'on' | 'back'
}

interface Shape {
  rows: number
  from: QueryShape['from']
  order?: readonly SortKey[]
  key?: readonly KeyValue[] | undefined
  total?: string
}

/**
 * The style that a request asks for: by the parameter that only one style has, else the list's first.
 * @throws Problem `invalid-parameter` when there are parameters of two.
 */
function styleOf({ list: { pages }, parameters }: Query): PageStyle {
  if (pages.length === 1) return pages[0]!
  const numbered = parameters['page'] !== undefined
  const walked = parameters['cursor'] !== undefined
  if (numbered && walked) {
    throw new Problem('invalid-parameter', {
      parameter: 'page',
      detail: 'The parameters `page` and `cursor` are two ways to say where: send one of them.',
    })
  }
  if (numbered) return 'offset'
  return walked ? pages.find((style) => style !== 'offset')! : pages[0]!
}

/** The values of the order's keys in a row, as a cursor carries them. */
export function keyOf(query: Query, order: readonly SortKey[], row: Row): KeyValue[] {
  return order.map(({ name, field }) => {
    const value = row[query.columns.indexOf(name)]!
    const { carry } = fieldTypes[field.type]
    return carry && value !== null ? carry(value) : value
  })
}

function inStandingOrder({ list, order }: Query): boolean {
  const standing = standingOrder(list)
  return order === standing || writeOrder(order).join() === writeOrder(standing).join()
}

/**
 * A first page is asked for without an offset: PostgreSQL takes one that it does not know for a tenth of the rows, and so
 * plans such a statement anew each time, which takes longer than running it.
 */
function beginningOf(page: number): 'start' | 'offset' {
  return page === 1 ? 'start' : 'offset'
}
