import { readPage } from '../../paging/limit.ts'
import type { MaintainedCounts, RowLocation } from '../counts/counts.ts'
import { defaultOrder, writeOrder } from '../order.ts'
import type { Query } from '../query.ts'
import type { ListReader, Total } from '../reader.ts'
import type { OffsetPage } from './page.ts'
import type { PagePlans } from './page-plans.ts'
import type { ListDeclaration } from '../list.ts'

/** Offsets below this are skipped, which costs no more than finding the bucket. */
const deepOffset = 1_000

type CountMode = ListDeclaration['count']

const byCost: readonly CountMode[] = ['none', 'estimate', 'exact']

interface OffsetRequest {
  query: Query
  page: number
  limit: number
  offset: number
  mode: CountMode
}

/** Pages by number. */
export class OffsetPager {
  readonly #reader: ListReader
  readonly #plans: PagePlans
  readonly #counts: ReadonlyMap<string, MaintainedCounts>

  /** @param counts the maintained counts of lists, by the list's name. */
  constructor(reader: ListReader, plans: PagePlans, counts: ReadonlyMap<string, MaintainedCounts>) {
    this.#reader = reader
    this.#plans = plans
    this.#counts = counts
  }

  async read(query: Query): Promise<OffsetPage> {
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
    const plan = this.#plans.page(query, { rows: limit, from: startOf(page), total: totalSql })
    const rows = await this.#reader.read(plan, [...query.values, offset])
    const total = rows.length > 0 ? Number(rows[0]![query.columns.length]) : await counts.total()
    return pageOf(request, { total, estimated: false }, rows, page * limit < total)
  }

  async #count({ query, mode }: OffsetRequest, counts: MaintainedCounts | undefined): Promise<Total> {
    if (mode === 'none') return { total: undefined, estimated: false }
    if (counts) return { total: await counts.total(), estimated: false }
    const plan = this.#plans.count(query)
    if (mode === 'estimate') return this.#reader.estimate(plan, query.values)
    const [row] = await this.#reader.read(plan, query.values)
    const total = Number(row![0])
    return { total, estimated: total === query.list.countAtMost }
  }

  /** Reads the rows of a page. Without an exact total, one row more tells whether another page follows. */
  async #readRows(request: OffsetRequest, counted: Total, location?: RowLocation): Promise<OffsetPage> {
    const { query, page, limit, offset } = request
    const total = counted.estimated ? undefined : counted.total
    if (total !== undefined && offset >= total) return pageOf(request, counted, [], false)
    const rows = total === undefined ? limit + 1 : limit
    const { key, skip = 0 } = location ?? {}
    const plan = this.#plans.page(query, { rows, from: key ? 'bucket' : startOf(page), key })
    const position = key ? [...key, skip] : [offset]
    const found = await this.#reader.read(plan, [...query.values, ...position])
    const hasNext = total === undefined ? found.length > limit : page * limit < total
    return pageOf(request, withRows(counted, offset, found.length), found.slice(0, limit), hasNext)
  }
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
function readCountMode(
  list: Pick<ListDeclaration, 'count' | 'choices'>,
  text: string | undefined,
): CountMode {
  const asked = list.choices ? byCost.indexOf(text as CountMode) : -1
  return asked < 0 ? list.count : byCost[Math.min(asked, byCost.indexOf(list.count))]!
}
