import { seldomChanges } from '../../api/refresh.ts'
import { keyText } from 'postern-client/api'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import { rowQuery, type ListSearch } from './list-search.ts'

export type ListDescription = RowOf<'GET /lists'>
export type ListField = ListDescription['fields'][number]
export type ListFilter = ListDescription['filters'][number]

/** A row of any list. */
export type Row = Record<string, unknown>

interface RowsPage {
  data: Row[]
  pagination?: { page: number; total?: number; totalPages?: number; hasNext: boolean; estimated?: boolean }
  pageInfo?: { hasNextPage: boolean; nextCursor: string | null }
  nextCursor?: string | number | null
}

/** The key of a row as one text. */
export const keyOfRow = ({ key }: ListDescription, row: Row): string =>
  keyText(key.length === 1 ? row[key[0]!] : key.map((name) => row[name]))

/** The lists that this person may read. */
export function useLists() {
  return useQuery({
    queryKey: ['lists'],
    queryFn: async ({ signal }) => (await api.get('/lists', { signal })).data,
    ...seldomChanges,
  })
}

/** Rows of a page; the greatest page of a list keeps the number of calls low while a person scrolls. */
const rowsOfPage = ({ limit }: ListDescription): number => Math.min(limit.max, 200)

const keyOf = (list: ListDescription, search: ListSearch) =>
  ['list-rows', list.path, rowQuery(search)] as const

/** The rows of a list that is paged by cursor, page after page. */
export function useCursorRows(list: ListDescription, search: ListSearch) {
  return usePages({
    key: [...keyOf(list, search), 'cursor'],
    read: async (cursor, signal) => {
      const query = { ...rowQuery(search), limit: rowsOfPage(list), cursor }
      const page = await api.request<RowsPage>('GET', list.path, { query, ...(signal && { signal }) })
      const next = page.pageInfo ? page.pageInfo.nextCursor : page.nextCursor
      return {
        data: page.data,
        pageInfo: { nextCursor: next === null || next === undefined ? null : String(next) },
      }
    },
    idOf: (row) => keyOfRow(list, row),
    refresh: false,
    moves: true,
  })
}

/** One numbered page of a list. */
export function useNumberedRows(list: ListDescription, search: ListSearch) {
  const page = Number(search.page ?? 1)
  return useQuery({
    queryKey: [...keyOf(list, search), 'page', page],
    queryFn: ({ signal }) =>
      api.request<RowsPage>('GET', list.path, {
        query: { ...rowQuery(search), limit: Math.min(list.limit.max, 100), page },
        signal,
      }),
    placeholderData: keepPreviousData,
    // Reading and counting a table of the product may take long.
    refetchInterval: false,
  })
}

/** The direction in which a list is sorted by a field. */
export function directionOf(
  list: ListDescription,
  search: ListSearch,
  field: string,
): 'asc' | 'desc' | undefined {
  const [first] = search.sort?.split(',') ?? list.order
  if (first === field) return 'asc'
  return first === `-${field}` ? 'desc' : undefined
}
