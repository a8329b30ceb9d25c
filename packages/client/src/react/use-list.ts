'use client'
import { useInfiniteQuery, type UseInfiniteQueryResult } from '@tanstack/react-query'
import { nextPage, type NextPage, type Page } from '../api/client.ts'
import {
  keyText,
  queryOf,
  type ExpansionIn,
  type FieldIn,
  type ListClient,
  type ListParameters,
  type ListRow,
  type ListTypes,
  type PathIn,
} from '../api/lists.ts'

export interface UseListOptions<F> {
  /**
   * The field or fields that identify a row. If a write moves a row that is already shown to a later page, the row is not shown twice: it
   * stays in place, with its new values.
   */
  key?: F | readonly F[]
  /** Default true. */
  enabled?: boolean
  /** Milliseconds until the shown pages are read again on the occasions of TanStack Query. Default: never, only by `refetch`. */
  staleTime?: number
}

/**
 * The rows of a list as an infinite query: `data` are those of all pages that were fetched, and `fetchNextPage` adds the next ones. It
 * follows cursors, so that rows which are added or deleted meanwhile shift none that are shown. The client has its own retries.
 */
export function useList<
  L extends ListTypes<L>,
  P extends PathIn<L>,
  F extends FieldIn<L[P]> = FieldIn<L[P]>,
  E extends ExpansionIn<L[P]> = never,
>(
  client: ListClient<L>,
  path: P,
  parameters?: ListParameters<L[P], F, E>,
  { key, enabled = true, staleTime = Infinity }: UseListOptions<NoInfer<F>> = {},
): UseInfiniteQueryResult<ListRow<L[P], F, E>[], Error> {
  const read = client.page as unknown as (path: string, parameters: object, options: object) => Promise<Page>
  return useInfiniteQuery<Page, Error, ListRow<L[P], F, E>[], readonly unknown[], NextPage>({
    queryKey: ['postern', path, queryOf(parameters)],
    queryFn: ({ pageParam, signal }) => read(path, { ...parameters, ...pageParam }, { signal }),
    initialPageParam: {},
    getNextPageParam: nextPage,
    select: ({ pages }) => rowsOf(pages as { data: ListRow<L[P], F, E>[] }[], key),
    enabled,
    staleTime,
    retry: false,
  })
}

function rowsOf<Row extends object>(
  pages: readonly { data: Row[] }[],
  key: string | readonly string[] | undefined,
): Row[] {
  const rows = pages.flatMap(({ data }) => data)
  if (key === undefined) return rows
  const idOf = (row: Record<string, unknown>): string =>
    keyText(typeof key === 'string' ? row[key] : key.map((name) => row[name]))
  // A Map leaves a key where it was first, and has its last value.
  return [...new Map(rows.map((row) => [idOf(row as Record<string, unknown>), row])).values()]
}
