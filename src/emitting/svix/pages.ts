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

/** How the pages of a list are read. A place is a row, or what identifies its position in the list. */
export interface Walk<Row extends Place, Place> {
  /** The place of an iterator. */
  find: (iterator: string) => Place | undefined | Promise<Place | undefined>
  /** The iterator of the page that begins after a place. */
  idOf: (place: Place) => string
  /**
   * Reads `count` rows after a place, or from the beginning, in the statement's order.
   * @returns those that match, and the place after which the list continues; without `last` at its end
   */
  read: (
    behind: Place | undefined,
    count: number,
  ) => Promise<{ rows: readonly Row[]; last?: Place | undefined }>
  /** The number of rows that one response can contain. Default: all. */
  fits?: ((rows: readonly Row[]) => number) | undefined
}

/**
 * A page as a response. Reads on if rows do not match, but only a bounded number: an unfinished page can have fewer rows than its limit.
 * @param view returns the rows as clients read them
 * @throws SvixError 422 for an iterator without a place
 */
export async function pageOf<Row extends Place, Place, View>(
  { limit, iterator, isBackward }: AskedPage,
  { find, idOf, read, fits = (rows) => rows.length }: Walk<Row, Place>,
  view: (rows: readonly Row[]) => readonly View[] | Promise<readonly View[]>,
) {
  const behind = iterator === undefined ? undefined : await find(iterator)
  if (iterator !== undefined && behind === undefined)
    throw invalid([{ loc: ['query', 'iterator', '__all__'], msg: 'Invalid id.', type: 'value_error' }])
  const { found, last } = await search<Row, Place | undefined, Place>(limit, behind, read)
  const taken = fits(found.slice(0, limit))
  const rows = found.slice(0, taken)
  // An unfinished search continues after the rows that it has read.
  const end = taken < found.length ? rows.at(-1) : (last ?? rows.at(-1))
  const [first, final] = (isBackward ? [end, rows[0]] : [rows[0], end]).map((one) => one && idOf(one))
  const data = await view(rows)
  return {
    data: isBackward ? data.toReversed() : data,
    iterator: final ?? null,
    ...(first !== undefined && { prevIterator: `-${first}` }),
    done: last === undefined && taken === found.length,
  }
}

/** The place of an id that an iterator contains; `undefined` without one. */
export const placeOf = (id: string | undefined) => (id === undefined ? undefined : { id })

/** A page of a list in memory, in the ascending order of its ids. */
export function pageOfSorted<Row>(
  all: readonly Row[],
  asked: AskedPage,
  idOf: (row: Row) => string,
  view: (row: Row) => object,
) {
  const { ascending, iterator } = asked
  const rows = (ascending ? all : all.toReversed()).filter(
    (row) => iterator === undefined || (ascending ? idOf(row) > iterator : idOf(row) < iterator),
  )
  const walk = { idOf, find: () => undefined, read: async () => ({ rows }) }
  return pageOf({ ...asked, iterator: undefined }, walk, (some) => some.map(view))
}
