// The part of TanStack Query's types that this package uses, so that its build does not need it. Those who use it have the whole ones.
declare module '@tanstack/react-query' {
  export interface UseInfiniteQueryResult<Data, Failure> {
    data: Data | undefined
    error: Failure | null
    status: 'pending' | 'error' | 'success'
    isFetching: boolean
    hasNextPage: boolean
    isFetchingNextPage: boolean
    fetchNextPage: () => Promise<unknown>
    refetch: () => Promise<unknown>
  }
  export function useInfiniteQuery<Page, Failure, Data, Key extends readonly unknown[], Param>(options: {
    queryKey: Key
    queryFn: (context: { pageParam: Param; signal: AbortSignal }) => Promise<Page>
    initialPageParam: Param
    getNextPageParam: (last: Page) => Param | undefined
    select: (data: { pages: Page[] }) => Data
    enabled?: boolean
    staleTime?: number
    retry?: boolean
  }): UseInfiniteQueryResult<Data, Failure>
}
