import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import type { KeyValue } from '../../paging/cursor-values.ts'
import type { Plan } from '../plan.ts'
import type { Query } from '../query.ts'
import type { ListReader, Row } from '../reader.ts'
import { keyOf, type CursorPage } from './page.ts'
import type { PagePlans } from './page-plans.ts'

/** The statement that a cursor selects. */
interface CursorRead {
  plan: Plan
  values: readonly KeyValue[]
  /** `start` without a cursor. */
  direction: 'start' | 'forward' | 'backward'
}

/** Pages by signed cursor. */
export class CursorPager {
  readonly #reader: ListReader
  readonly #plans: PagePlans
  readonly #cursors: Cursors
  /** Equal requests share their query (queries.ts), and with it the statement of its cursor. */
  readonly #reads = new WeakMap<Query, CursorRead>()

  constructor(reader: ListReader, plans: PagePlans, cursors: Cursors) {
    this.#reader = reader
    this.#plans = plans
    this.#cursors = cursors
  }

  /** @throws Problem `invalid-cursor` for a cursor that was not issued for this list, these filters and this order. */
  async read(query: Query): Promise<CursorPage> {
    const { limit, scopes } = query
    const { plan, values, direction } = this.#readOf(query)
    const page = { style: 'cursor', query, limit } as const
    if (query.empty) return { ...page, rows: [], nextCursor: null, previousCursor: null }
    const found = await this.#reader.read(plan, values)
    // The statement reads one row more than a page has, which shows whether another page follows.
    const hasMore = found.length > limit
    const rows = hasMore ? found.slice(0, limit) : [...found]
    if (direction === 'backward') rows.reverse()
    const hasNext = direction === 'backward' || hasMore
    const hasPrevious = direction === 'backward' ? hasMore : direction === 'forward'
    return {
      ...page,
      rows,
      nextCursor: hasNext ? this.#cursorAt(query, rows.at(-1), scopes.next) : null,
      previousCursor: hasPrevious ? this.#cursorAt(query, rows[0], scopes.previous) : null,
    }
  }

  #cursorAt(query: Query, row: Row | undefined, scope: CursorScope | undefined): string | null {
    return row === undefined || scope === undefined
      ? null
      : this.#cursors.encode(scope, keyOf(query, query.order, row))
  }

  #readOf(query: Query): CursorRead {
    let read = this.#reads.get(query)
    if (!read) this.#reads.set(query, (read = this.#decode(query)))
    return read
  }

  #decode(query: Query): CursorRead {
    const { parameters, scopes, limit, values } = query
    const cursor = parameters['cursor']
    if (cursor === undefined)
      return { plan: this.#plans.after(query, undefined, limit + 1), values, direction: 'start' }
    const { next, previous } = scopes
    const { values: key, which } = this.#cursors.decodeOneOf(previous ? [next, previous] : [next], cursor)
    const direction = which === 1 ? 'backward' : 'forward'
    const plan = this.#plans.after(query, key, limit + 1, direction === 'backward')
    return { plan, values: [...values, ...key], direction }
  }
}
