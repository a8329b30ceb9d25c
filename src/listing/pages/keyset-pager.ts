import type { Query } from '../query.ts'
import type { ListReader } from '../reader.ts'
import { readKeysetCursor, showKeysetCursor } from './keyset-cursor.ts'
import type { KeysetPage } from './page.ts'
import type { PagePlans } from './page-plans.ts'

/** Pages whose cursor is the key of the last item as it is, without a signature. */
export class KeysetPager {
  readonly #reader: ListReader
  readonly #plans: PagePlans

  constructor(reader: ListReader, plans: PagePlans) {
    this.#reader = reader
    this.#plans = plans
  }

  /** @throws Problem `invalid-cursor` for a cursor that is not a value of the key. */
  async read(query: Query): Promise<KeysetPage> {
    const { list, limit, order, parameters, columns } = query
    const { field } = order[0]!
    const cursor = parameters['cursor']
    const key = cursor === undefined ? undefined : [readKeysetCursor(field, cursor)]
    const page = { style: 'keyset', query, limit } as const
    if (query.empty) return { ...page, rows: [], nextCursor: null }
    const values = [...query.values, ...(key ?? [])]
    const found = await this.#reader.read(this.#plans.after(query, key, limit + 1), values)
    const rows = found.slice(0, limit)
    const last = found.length > limit ? rows.at(-1)![columns.indexOf(list.key)]! : null
    return { ...page, rows, nextCursor: last === null ? null : showKeysetCursor(field, last) }
  }
}
