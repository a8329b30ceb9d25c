import { Problem } from '../../errors.ts'
import type { Cursors } from '../../paging/cursor.ts'
import type { KeyValue } from '../../paging/cursor-values.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { MaintainedCounts } from '../counts/counts.ts'
import type { Query } from '../query.ts'
import type { ListReader, Row } from '../reader.ts'
import { CursorPager } from './cursor-pager.ts'
import { KeysetPager } from './keyset-pager.ts'
import { OffsetPager } from './offset-pager.ts'
import { PagePlans } from './page-plans.ts'
import type { Page } from './page.ts'
import type { PageStyle } from '../config.ts'

/** Reads pages of lists, from a query to the rows. */
export class Pages {
  readonly byCursor: CursorPager
  readonly byKeyset: KeysetPager
  readonly byOffset: OffsetPager
  readonly #reader: ListReader
  readonly #plans: PagePlans

  /** @param counts the maintained counts of lists, by the list's name. */
  constructor(
    engine: Engine,
    reader: ListReader,
    cursors: Cursors,
    counts: ReadonlyMap<string, MaintainedCounts> = new Map(),
  ) {
    this.#reader = reader
    this.#plans = new PagePlans(engine)
    this.byCursor = new CursorPager(reader, this.#plans, cursors)
    this.byKeyset = new KeysetPager(reader, this.#plans)
    this.byOffset = new OffsetPager(reader, this.#plans, counts)
  }

  /** @throws Problem `invalid-cursor`, or `invalid-parameter` for parameters of two page styles. */
  read(query: Query): Promise<Page> {
    const style = styleOf(query)
    if (style === 'offset') return this.byOffset.read(query)
    return style === 'keyset' ? this.byKeyset.read(query) : this.byCursor.read(query)
  }

  /** Up to `limit` rows after a key of the order, or from the beginning without one. */
  rowsAfter(
    query: Query,
    key: readonly KeyValue[] | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Row[]> {
    const plan = this.#plans.after(query, key, limit)
    return this.#reader.read(plan, [...query.values, ...(key ?? [])], signal)
  }
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
