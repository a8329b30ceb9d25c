import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import type { KeyValue } from '../../paging/cursor-values.ts'
import type { Plan } from '../plan.ts'
import type { CursorScopes, Query } from '../query.ts'
import type { ListReader, Row } from '../reader.ts'
import { keyOf, type CursorPage } from './page.ts'
import type { PagePlans } from './page-plans.ts'

/** The page that a cursor leads to. */
interface Target {
  to: keyof CursorScopes
  /** The row that the page follows or precedes; `undefined` at an end of the list. */
  key: readonly KeyValue[] | undefined
}

const start: Target = { to: 'first', key: undefined }

/** The statement that a cursor selects. */
interface CursorRead extends Pick<Target, 'key'> {
  plan: Plan
  values: readonly KeyValue[]
  backward: boolean
}

type PageCursors = Pick<CursorPage, 'nextCursor' | 'previousCursor'>

const noCursors: PageCursors = { nextCursor: null, previousCursor: null }

/** Pages by signed cursor. */
export class CursorPager {
  readonly #reader: ListReader
  readonly #plans: PagePlans
  readonly #cursors: Cursors
  /** Equal requests share their query (query.ts), and with it the statement of its cursor. */
  readonly #reads = new WeakMap<Query, CursorRead>()

  constructor(reader: ListReader, plans: PagePlans, cursors: Cursors) {
    this.#reader = reader
    this.#plans = plans
    this.#cursors = cursors
  }

  /** @throws Problem `invalid-cursor` for a cursor that was not issued for this list, these filters and this order. */
  async read(query: Query): Promise<CursorPage> {
    const { limit, scopes } = query
    const read = this.#readOf(query)
    const page = { style: 'cursor', query, limit } as const
    if (query.empty) return { ...page, rows: [], ...noCursors }
    const found = await this.#reader.read(read.plan, read.values)
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
    const plan = this.#plans.after(query, undefined, 1, !backward)
    if ((await this.#reader.read(plan, query.values)).length === 0) return noCursors
    return { ...noCursors, [backward ? 'nextCursor' : 'previousCursor']: this.#cursors.encode(scope, key) }
  }

  #cursorAt(query: Query, row: Row, scope: CursorScope | undefined): string | null {
    return scope === undefined ? null : this.#cursors.encode(scope, keyOf(query, query.order, row))
  }

  #readOf(query: Query): CursorRead {
    let read = this.#reads.get(query)
    if (!read) this.#reads.set(query, (read = this.#decode(query)))
    return read
  }

  #decode(query: Query): CursorRead {
    const { parameters, scopes, limit, values } = query
    const cursor = parameters['cursor']
    const { to, key } = cursor === undefined ? start : this.#targetOf(cursor, scopes)
    const backward = to === 'previous' || to === 'last'
    const plan = this.#plans.after(query, key, limit + 1, backward)
    return { plan, values: key ? [...values, ...key] : values, key, backward }
  }

  #targetOf(cursor: string, scopes: CursorScopes): Target {
    const pages = Object.entries(scopes) as [keyof CursorScopes, CursorScope][]
    const known = pages.map(([, scope]) => scope)
    const { values, which } = this.#cursors.decodeOneOf(known, cursor)
    const [to] = pages[which]!
    return { to, key: to === 'first' || to === 'last' ? undefined : values }
  }
}
