import { search } from '../deliveries/delivery-sources.ts'
import { type SvixCall, invalid } from './call.ts'

/** The page of a list that a client requests. */
export interface AskedPage {
  limit: number
  /** The page begins after this id, in the statement's order. */
  iterator: string | undefined
  /** The statement's order. */
  ascending: boolean
  /** Whether the statement reads against the list's order: the page ends before the iterator, or is the oldest page after a time. */
  isBackward: boolean
  /** Milliseconds since 1970. Rows are older than `before`, and not older than `after`. */
  before: number | undefined
  after: number | undefined
}

/** @param standard the list's default order */
export function readPage(
  query: SvixCall['query'],
  standard: 'ascending' | 'descending' = 'descending',
): AskedPage {
  const { limit = 50, order = standard, before, after } = query
  const iterator = query['iterator'] as string | undefined
  const isPrevious = iterator?.startsWith('-') ?? false
  const isBackward = isPrevious || (iterator === undefined && before === undefined && after !== undefined)
  return {
    limit,
    iterator: isPrevious ? iterator!.slice(1) : iterator,
    ascending: (order === 'ascending') !== isBackward,
    isBackward,
    before,
    after,
  }
}

/** The place of the page's iterator; `undefined` without one. @throws SvixError 422 if `find` does not find it */
export async function placeOf<T>(
  { iterator }: AskedPage,
  find: (iterator: string) => T | undefined | Promise<T | undefined>,
): Promise<T | undefined> {
  if (iterator === undefined) return undefined
  const place = await find(iterator)
  if (place === undefined)
    throw invalid([{ loc: ['query', 'iterator', '__all__'], msg: 'Invalid id.', type: 'value_error' }])
  return place
}

/** The result of one statement. The list continues after `last`, which is `undefined` at the end. */
interface Chunk<Row, Place> {
  rows: Row[]
  last: { place: Place; id: string } | undefined
}

export interface Walk<Row extends { id: string }, Place> {
  /** The iterator's place. `undefined`: the beginning. */
  behind: Place | undefined
  /** Reads `count` rows after a place, and returns those that match. */
  read(behind: Place | undefined, count: number): Promise<Chunk<Row, Place>>
}

interface Page<Row> {
  data: Row[]
  iterator: string | null
  prevIterator?: string
  done: boolean
}

/**
 * A page as a response.
 * @param data in the statement's order
 * @param end the id after which the statement continues; `start` is that of the first row
 */
function respond<Row>(
  data: readonly Row[],
  { isBackward }: Pick<AskedPage, 'isBackward'>,
  { start, end, done }: { start: string | undefined; end: string | undefined; done: boolean },
): Page<Row> {
  const [first, final] = isBackward ? [end, start] : [start, end]
  return {
    data: isBackward ? data.toReversed() : [...data],
    iterator: final ?? null,
    ...(first !== undefined && { prevIterator: `-${first}` }),
    done,
  }
}

/**
 * A page of a list that one statement reads.
 * @param rows in the statement's order; one more than the limit if there are more
 * @param idOf returns the iterator of the page that begins after a row
 */
export async function listOf<Row>(
  rows: readonly Row[],
  page: AskedPage,
  idOf: (row: Row) => string,
  view: (row: Row) => unknown,
): Promise<object> {
  const shown = rows.slice(0, page.limit)
  const [start, end] = [shown[0], shown.at(-1)].map((row) => (row === undefined ? undefined : idOf(row)))
  return respond(await Promise.all(shown.map(view)), page, { start, end, done: rows.length <= page.limit })
}

/** A page of a list in memory, in the ascending order of its ids. */
export function listOfSorted<Row>(
  all: readonly Row[],
  page: AskedPage,
  idOf: (row: Row) => string,
  view: (row: Row) => unknown,
): Promise<object> {
  const { ascending, iterator, limit } = page
  const behind = (ascending ? all : all.toReversed()).filter(
    (row) => iterator === undefined || (ascending ? idOf(row) > iterator : idOf(row) < iterator),
  )
  return listOf(behind.slice(0, limit + 1), page, idOf, view)
}

/**
 * A page of a search, which reads many rows that do not match.
 * @param fits returns the number of rows that one response can contain; by default, all
 */
export async function pageOf<Row extends { id: string }, Place>(
  asked: AskedPage,
  walk: Walk<Row, Place>,
  fits: (rows: readonly Row[]) => number = (rows) => rows.length,
): Promise<Page<Row>> {
  const { limit } = asked
  const { found, last } = await search(limit, undefined, (before: Chunk<Row, Place>['last'], count) =>
    walk.read(before ? before.place : walk.behind, count),
  )
  const taken = fits(found.slice(0, limit))
  const done = last === undefined && taken === found.length
  const data = found.slice(0, taken)
  // An unfinished search continues after the rows that it has read.
  const end = taken < found.length ? data.at(-1)?.id : (last?.id ?? data.at(-1)?.id)
  return respond(data, asked, { start: data[0]?.id, end, done })
}
