import { storedValue } from '../field-types.ts'
import type { KeyValue } from '../../paging/cursor-values.ts'
import type { SortKey } from '../list.ts'
import type { Query } from '../query.ts'
import type { Row } from '../reader.ts'
import type { PageStyle } from '../config.ts'

interface PageOf<Style extends PageStyle> {
  style: Style
  query: Query
  rows: readonly Row[]
  limit: number
}

export interface CursorPage extends PageOf<'cursor'> {
  /** `null` on the last page. */
  nextCursor: string | null
  /** `null` on the first page, and in lists that only go forward. */
  previousCursor: string | null
}

export interface KeysetPage extends PageOf<'keyset'> {
  /** The key of the last item; `null` on the last page. */
  nextCursor: string | number | null
}

export interface OffsetPage extends PageOf<'offset'> {
  page: number
  hasNext: boolean
  /** `undefined` when rows were not counted. */
  total: number | undefined
  estimated: boolean
}

export type Page = CursorPage | KeysetPage | OffsetPage

/** The values of the order's keys in a row, as cursors hold them. */
export function keyOf(query: Query, order: readonly SortKey[], row: Row): KeyValue[] {
  return order.map(({ name, field }) => storedValue(field, row[query.columns.indexOf(name)]!))
}
