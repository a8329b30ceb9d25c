import type { SvixCall } from './call.ts'
import { invalid } from './errors.ts'

/** A page of a list, newest first, as Svix's clients ask for it. */
export interface AskedPage {
  limit: number
  /** The id behind which the page begins. */
  iterator: string | undefined
  /** Whether the page is the one that ends before the iterator or, without one, the oldest of those after a time. */
  ascending: boolean
  /** Milliseconds since 1970. Created before the first, and at the second or later. */
  before: number | undefined
  after: number | undefined
}

export function readPage(query: SvixCall['query']): AskedPage {
  const { limit = 50, iterator, before, after } = query as Partial<AskedPage>
  const isPrevious = iterator?.startsWith('-') ?? false
  return {
    limit,
    iterator: isPrevious ? iterator!.slice(1) : iterator,
    ascending: isPrevious || (iterator === undefined && before === undefined && after !== undefined),
    before,
    after,
  }
}

/** @throws SvixError 422 if there is no place with the id of the iterator */
export async function readIterator<T>(found: T | undefined | Promise<T | undefined>): Promise<T> {
  const place = await found
  if (place === undefined)
    throw invalid([{ loc: ['query', 'iterator', '__all__'], msg: 'Invalid id.', type: 'value_error' }])
  return place
}

/** What one statement found. `last`: the list goes on behind this place; `undefined` at its end. */
export interface Chunk<Row, Place> {
  rows: Row[]
  last: { place: Place; id: string } | undefined
}

export interface Walk<Row extends { id: string }, Place> {
  /** The place of the iterator; `undefined`: from the beginning. */
  behind: Place | undefined
  /** Examines `count` rows behind a place, and returns those that match. */
  read(behind: Place | undefined, count: number): Promise<Chunk<Row, Place>>
}

export interface Page<Row> {
  data: Row[]
  iterator: string | null
  prevIterator?: string
  done: boolean
}

/** Rows that one statement examines: a few milliseconds. */
const chunkSize = 500
/** Statements of one page. Then it ends with fewer rows, and its iterator continues the search. */
const mostChunks = 4

/** @param fits how many of the rows one response can have. Default: all */
export async function pageOf<Row extends { id: string }, Place>(
  { limit, ascending }: AskedPage,
  walk: Walk<Row, Place>,
  fits: (rows: readonly Row[]) => number = (rows) => rows.length,
): Promise<Page<Row>> {
  const found: Row[] = []
  let { behind } = walk
  let last: Chunk<Row, Place>['last']
  // Often all match, so the first chunk is short.
  for (let chunks = 0, count = limit + 1; chunks < mostChunks; chunks += 1, count = chunkSize) {
    const chunk = await walk.read(behind, count)
    found.push(...chunk.rows)
    last = chunk.last
    if (found.length > limit || last === undefined) break
    behind = last.place
  }
  const taken = fits(found.slice(0, limit))
  const done = last === undefined && taken === found.length
  const data = found.slice(0, taken)
  // A search that was broken off continues behind what it has examined.
  const end = taken < found.length ? data.at(-1)?.id : (last?.id ?? data.at(-1)?.id)
  const start = data[0]?.id
  if (ascending) data.reverse()
  const [first, final] = ascending ? [end, start] : [start, end]
  return { data, iterator: final ?? null, ...(first !== undefined && { prevIterator: `-${first}` }), done }
}
