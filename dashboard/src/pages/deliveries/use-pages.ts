import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'

interface Page<Row> {
  data: Row[]
  pageInfo: { nextCursor: string | null }
}

/**
 * The rows of a list with cursors, page after page. While the filters change, the former rows stay. All pages that are shown
 * are read again every few seconds; rows keep their place by their keys.
 */
export function usePages<Row>(
  key: readonly unknown[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>,
  { refresh = 5_000, enabled = true }: { refresh?: number | false; enabled?: boolean } = {},
) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ pageInfo }) => pageInfo.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: refresh,
    enabled,
  })
  return {
    rows: query.data?.pages.flatMap(({ data }) => data) ?? [],
    error: query.error,
    loading: query.isPending && enabled,
    retry: () => void query.refetch(),
    onMore: query.hasNextPage ? () => void query.fetchNextPage() : undefined,
    loadingMore: query.isFetchingNextPage,
  }
}
