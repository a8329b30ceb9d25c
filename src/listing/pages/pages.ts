import { Problem } from '../../errors.ts'
import type { Cursors, CursorScope, KeyValue } from '../../paging/cursor.ts'
import { BoundedCache, oncePer } from '../../runtime/bounded-cache.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { MaintainedCounts, RowLocation } from '../counts/counts.ts'
import type { CursorScopes, Query } from '../query.ts'
import type { ListReader, Row, Total } from '../standby-reader.ts'
import {
  type CursorPage,
  keyOf,
  type KeysetPage,
  type OffsetPage,
  type Page,
  readKeysetCursor,
  showKeysetCursor,
} from './page.ts'
import type { PageStyle } from '../config.ts'
import { effectiveWords } from '../filters.ts'
import { type Plan, planCount, planPage, type QueryShape, Statement } from '../plan.ts'
import { invalidParameter, readPage } from '../../paging/parameters.ts'
import { defaultOrder, reversed, writeOrder } from '../order.ts'
import {
  type AppliedFilter,
  countModesOf,
  type CountMode,
  type ListDeclaration,
  type SortKey,
} from '../list.ts'

/** The statement that a cursor selects. */
interface CursorRead {
  plan: Plan
  values: readonly KeyValue[]
  /** The row that the page follows or precedes; `undefined` at an end of the list. */
  key: readonly KeyValue[] | undefined
  backward: boolean
}

type PageCursors = Pick<CursorPage, 'nextCursor' | 'previousCursor'>

const noCursors: PageCursors = { nextCursor: null, previousCursor: null }

/** Offsets below this are skipped, which costs no more than finding the bucket. */
const deepOffset = 1_000

interface OffsetRequest {
  query: Query
  page: number
  limit: number
  offset: number
  mode: CountMode
}

/** Plans in the cache; beyond them, the oldest one is dropped. */
const cacheSize = 1_000

interface PageShape extends Pick<QueryShape, 'rows' | 'from' | 'total'> {
  order?: readonly SortKey[]
  key?: readonly KeyValue[] | undefined
}

/** Reads pages of lists, from a query to the rows: by signed cursor, by the key of the last item, or by number. */
export class Pages {
  readonly #engine: Engine
  readonly #reader: ListReader
  readonly #cursors: Cursors
  readonly #counts: ReadonlyMap<string, MaintainedCounts>
  /** The statements of pages, one for all queries that differ only in values. */
  readonly #plans = new BoundedCache<string, Plan>(cacheSize)
  /** Equal requests share their query (query.ts), and with it the statement of its cursor. */
  readonly #cursorReadOf = oncePer((query: Query) => this.#decodeCursor(query))

  /** @param counts the maintained counts of lists, by the list's name. */
  constructor(
    engine: Engine,
    reader: ListReader,
    cursors: Cursors,
    counts: ReadonlyMap<string, MaintainedCounts> = new Map(),
  ) {
    this.#engine = engine
    this.#reader = reader
    this.#cursors = cursors
    this.#counts = counts
  }

  /** @throws Problem `invalid-cursor`, or `invalid-parameter` for parameters of two page styles. */
  async read(query: Query): Promise<Page> {
    const style = styleOf(query)
    const page = await (style === 'offset'
      ? this.byOffset(query)
      : style === 'keyset'
        ? this.byKeyset(query)
        : this.byCursor(query))
    if (page.rows.length === 0) await this.checkSearch(query)
    return page
  }

  /**
   * Checks, in a strict list, whether a search found nothing because the database ignores all its words.
   * @throws Problem `invalid-parameter` that names the words
   */
  async checkSearch({ list, filters, settings }: Query): Promise<void> {
    if (!list.strict) return
    for (const applied of filters.filter(({ filter }) => filter.kind === 'search')) {
      const statement = new Statement(this.#engine)
      let slot = 0
      const sql = effectiveWords(applied, list, () => statement.value(slot++), this.#engine)
      if (sql === undefined) continue
      const [row] = await this.#reader.read(statement.plan(sql), applied.values, { settings })
      if (Number(row![0]) === 0) throw ineffective(applied, this.#engine)
    }
  }

  /** Up to `limit` rows after a key of the order, or from the beginning without one. */
  rowsAfter(
    query: Query,
    key: readonly KeyValue[] | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Row[]> {
    const plan = this.#planAfter(query, key, limit)
    const { settings, values } = query
    return this.#reader.read(plan, [...values, ...(key ?? [])], { settings, signal })
  }

  /** @throws Problem `invalid-cursor` for a cursor that was not issued for this list, these filters and this order. */
  async byCursor(query: Query): Promise<CursorPage> {
    const { limit, scopes } = query
    const read = this.#cursorReadOf(query)
    const page = { style: 'cursor', query, limit } as const
    if (query.empty) return { ...page, rows: [], ...noCursors }
    const found = await this.#reader.read(read.plan, read.values, query)
    if (found.length === 0) return { ...page, rows: [], ...(await this.#turn(query, read)) }
    // The statement reads one row more than a page has, which shows whether another page follows.
    const hasMore = found.length > limit
    const rows = hasMore ? found.slice(0, limit) : [...found]
    if (read.backward) rows.reverse()
    const hasOrigin = read.key !== undefined
    const [hasPrevious, hasNext] = read.backward ? [hasMore, hasOrigin] : [hasOrigin, hasMore]
    return {
      ...page,
      rows,
      nextCursor: hasNext ? this.#cursorAt(query, rows.at(-1)!, scopes.next) : null,
      previousCursor: hasPrevious ? this.#cursorAt(query, rows[0]!, scopes.previous) : null,
    }
  }

  /**
   * The way back from a page whose rows were deleted. The row of the client's cursor may be deleted as well, so the way leads to
   * the rows at the end of the list: the first page before all rows, the last page after them.
   */
  async #turn(query: Query, { key, backward }: CursorRead): Promise<PageCursors> {
    const scope = backward ? query.scopes.first : query.scopes.last
    if (!key || !scope) return noCursors
    const plan = this.#planAfter(query, undefined, 1, !backward)
    if ((await this.#reader.read(plan, query.values, query)).length === 0) return noCursors
    return { ...noCursors, [backward ? 'nextCursor' : 'previousCursor']: this.#cursors.encode(scope, key) }
  }

  #cursorAt(query: Query, row: Row, scope: CursorScope | undefined): string | null {
    return scope === undefined ? null : this.#cursors.encode(scope, keyOf(query, query.order, row))
  }

  #decodeCursor(query: Query): CursorRead {
    const { parameters, scopes, limit, values } = query
    const cursor = parameters['cursor']
    const decoded =
      cursor === undefined ? undefined : this.#cursors.decodeOneOf(Object.values(scopes), cursor)
    const pages = Object.keys(scopes) as (keyof CursorScopes)[]
    const to = decoded && pages[decoded.which]
    const backward = to === 'previous' || to === 'last'
    const key = to === 'first' || to === 'last' ? undefined : decoded?.values
    const plan = this.#planAfter(query, key, limit + 1, backward)
    return { plan, values: key ? [...values, ...key] : values, key, backward }
  }

  /** @throws Problem `invalid-cursor` for a cursor that is not a value of the key. */
  async byKeyset(query: Query): Promise<KeysetPage> {
    const { limit, order, parameters } = query
    const cursor = parameters['cursor']
    const key = cursor === undefined ? undefined : readKeysetCursor(order, cursor)
    const page = { style: 'keyset', query, limit } as const
    if (query.empty) return { ...page, rows: [], nextCursor: null }
    const values = [...query.values, ...(key ?? [])]
    const found = await this.#reader.read(this.#planAfter(query, key, limit + 1), values, query)
    const rows = found.slice(0, limit)
    const nextCursor =
      found.length > limit ? showKeysetCursor(order, keyOf(query, order, rows.at(-1)!)) : null
    return { ...page, rows, nextCursor }
  }

  async byOffset(query: Query): Promise<OffsetPage> {
    const { list, limit, parameters } = query
    const page = readPage(parameters['page'])
    const mode = readCountMode(list, parameters['count'])
    const request = { query, page, limit, offset: (page - 1) * limit, mode }
    if (query.empty) return pageOf(request, exactly(request, 0), [], false)
    const counts = query.filters.length === 0 ? this.#counts.get(list.name) : undefined
    const location = counts && (await locate(counts, request))
    if (location) return this.#readRows(request, exactly(request, location.total), location)
    if (counts?.totalSql !== undefined && mode !== 'none')
      return this.#readWithTotal(request, counts, counts.totalSql)
    return this.#readRows(request, await this.#count(request, counts))
  }

  /** Reads a page and its total by one statement, which sees one moment. After the last page there is no row that has the total. */
  async #readWithTotal(
    request: OffsetRequest,
    counts: MaintainedCounts,
    totalSql: string,
  ): Promise<OffsetPage> {
    const { query, page, limit, offset } = request
    const plan = this.#planPage(query, { rows: limit, from: startOf(page), total: totalSql })
    const rows = await this.#reader.read(plan, [...query.values, offset], query)
    const total = rows.length > 0 ? Number(rows[0]![query.columns.length]) : await counts.total()
    return pageOf(request, { total, estimated: false }, rows, page * limit < total)
  }

  async #count({ query, mode }: OffsetRequest, counts: MaintainedCounts | undefined): Promise<Total> {
    if (mode === 'none') return { total: undefined, estimated: false }
    if (counts) return { total: await counts.total(), estimated: false }
    const { list, filters, shape } = query
    const plan = this.#plans.obtain(`count ${shape}`, () => planCount(list, filters, this.#engine))
    if (mode === 'estimate') return this.#reader.estimate(plan, query.values, query)
    const [row] = await this.#reader.read(plan, query.values, query)
    const total = Number(row![0])
    return { total, estimated: total === list.countAtMost }
  }

  /** Reads the rows of a page. Without an exact total, one row more tells whether another page follows. */
  async #readRows(request: OffsetRequest, counted: Total, location?: RowLocation): Promise<OffsetPage> {
    const { query, page, limit, offset } = request
    const total = counted.estimated ? undefined : counted.total
    if (total !== undefined && offset >= total) return pageOf(request, counted, [], false)
    const rows = total === undefined ? limit + 1 : limit
    const { key, skip = 0 } = location ?? {}
    const plan = this.#planPage(query, { rows, from: key ? 'bucket' : startOf(page), key })
    const position = key ? [...key, skip] : [offset]
    const found = await this.#reader.read(plan, [...query.values, ...position], query)
    const hasNext = total === undefined ? found.length > limit : page * limit < total
    return pageOf(request, withRows(counted, offset, found.length), found.slice(0, limit), hasNext)
  }

  #planPage(query: Query, { rows, from, order = query.order, key, total }: PageShape): Plan {
    const { list, filters, columns, shape } = query
    const nulls = key?.map((value) => value === null)
    const mask = nulls?.includes(true) ? nulls.map((isNull) => (isNull ? 'n' : 'v')).join('') : ''
    const name = `${from} ${rows} ${mask} ${total ?? ''} ${shape} ${writeOrder(order).join(',')}`
    return this.#plans.obtain(name, () =>
      planPage({ list, filters, columns, order, rows, from, total, ...(nulls && { nulls }) }, this.#engine),
    )
  }

  /** The rows after a key, or from the beginning without one. @param backward against the query's order. */
  #planAfter(query: Query, key: readonly KeyValue[] | undefined, rows: number, backward = false): Plan {
    const order = backward ? reversed(query.order) : query.order
    return this.#planPage(query, { rows, from: key ? 'key' : 'start', order, key })
  }
}

function ineffective({ filter, values }: AppliedFilter, engine: Engine): Problem {
  const { parameter, configuration = 'simple' } = filter
  const words = String(values[0]).replaceAll('"', '').replaceAll(' ', ', ')
  const why =
    engine === 'postgres'
      ? `are not in the index of the text search configuration ${configuration}, such as stop words`
      : 'have fewer than three characters, which the trigram index does not find'
  return invalidParameter(
    parameter,
    `has only words that ${why}: ${words.slice(0, 200)}. Search for another word`,
  )
}

/** The style whose parameter the request has, otherwise the first style of the list. */
function styleOf({ list: { pages }, parameters }: Query): PageStyle {
  if (pages.length === 1) return pages[0]!
  const hasPage = parameters['page'] !== undefined
  const hasCursor = parameters['cursor'] !== undefined
  if (hasPage && hasCursor)
    throw new Problem('invalid-parameter', {
      parameter: 'page',
      detail: 'The parameters `page` and `cursor` both select a page: send only one of them.',
    })
  if (hasPage) return 'offset'
  return hasCursor ? pages.find((style) => style !== 'offset')! : pages[0]!
}

function pageOf(
  { query, page, limit }: OffsetRequest,
  { total, estimated }: Total,
  rows: OffsetPage['rows'],
  hasNext: boolean,
): OffsetPage {
  return { style: 'offset', query, page, limit, total, estimated, rows, hasNext }
}

/** A total that stopped at its bound, or that the planner guessed: these rows may show that there are more. */
function withRows({ total, estimated }: Total, offset: number, rows: number): Total {
  if (total === undefined || !estimated || rows === 0) return { total, estimated }
  return { total: Math.max(total, offset + rows), estimated }
}

/** A total that is known exactly, unless the request does without one. */
function exactly({ mode }: OffsetRequest, total: number): Total {
  return { total: mode === 'none' ? undefined : total, estimated: false }
}

/** Finds a deep page by its bucket; `undefined` for other pages. Buckets follow the default order. */
async function locate(
  counts: MaintainedCounts,
  { query, offset }: OffsetRequest,
): Promise<RowLocation | undefined> {
  return offset >= deepOffset && isInDefaultOrder(query) ? counts.locate(offset) : undefined
}

function isInDefaultOrder({ list, order }: Query): boolean {
  const byDefault = defaultOrder(list)
  return order === byDefault || writeOrder(order).join() === writeOrder(byDefault).join()
}

/**
 * The first page is read without an offset. For an unknown offset PostgreSQL assumes a tenth of the rows, and therefore
 * plans the statement again each time, which takes longer than running it.
 */
function startOf(page: number): 'start' | 'offset' {
  return page === 1 ? 'start' : 'offset'
}

/** How the rows are counted: as the request asks, but never at a higher cost than the list allows. */
function readCountMode(list: ListDeclaration, text: string | undefined): CountMode {
  const asked = list.choices ? countModesOf(list).find((mode) => mode === text) : undefined
  return asked ?? list.count
}
