import type { SvixCall } from './call.ts'
import { invalid } from './errors.ts'

/** The page of a list, newest first, that a client requests. */
export interface AskedPage {
  limit: number
  /** The page begins after this id. */
  iterator: string | undefined
  /** Whether the page ends before the iterator or, without one, is the oldest page after a time. */
  ascending: boolean
  /** Milliseconds since 1970. Rows are older than `before`, and not older than `after`. */
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

/** @throws SvixError 422 if the iterator's id was not found */
export async function readIterator<T>(found: T | undefined | Promise<T | undefined>): Promise<T> {
  const place = await found
  if (place === undefined)
    throw invalid([{ loc: ['query', 'iterator', '__all__'], msg: 'Invalid id.', type: 'value_error' }])
  return place
}

/** The result of one statement. The list continues after `last`, which is `undefined` at the end. */
export interface Chunk<Row, Place> {
  rows: Row[]
  last: { place: Place; id: string } | undefined
}

export interface Walk<Row extends { id: string }, Place> {
  /** The iterator's place. `undefined`: the beginning. */
  behind: Place | undefined
  /** Reads `count` rows after a place, and returns those that match. */
  read(behind: Place | undefined, count: number): Promise<Chunk<Row, Place>>
}

export interface Page<Row> {
  data: Row[]
  iterator: string | null
  prevIterator?: string
  done: boolean
}

/** Rows that one statement reads, in a few milliseconds. */
const chunkSize = 500
/** The most statements for one page. After them, the page ends early, and its iterator continues the search. */
const mostChunks = 4

/** @param fits returns the number of rows that one response can contain; by default, all */
export async function pageOf<Row extends { id: string }, Place>(
  { limit, ascending }: AskedPage,
  walk: Walk<Row, Place>,
  fits: (rows: readonly Row[]) => number = (rows) => rows.length,
): Promise<Page<Row>> {
  const found: Row[] = []
  let { behind } = walk
  let last: Chunk<Row, Place>['last']
  // Often all rows match, so the first chunk is short.
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
  // An unfinished search continues after the rows that it has read.
  const end = taken < found.length ? data.at(-1)?.id : (last?.id ?? data.at(-1)?.id)
  const start = data[0]?.id
  if (ascending) data.reverse()
  const [first, final] = ascending ? [end, start] : [start, end]
  return { data, iterator: final ?? null, ...(first !== undefined && { prevIterator: `-${first}` }), done }
}
