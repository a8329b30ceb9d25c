import { useInfiniteQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { ReadState, Section } from '../../ui/index.ts'
import { ActivityTable } from './activity-table.tsx'

/** What happened to the account, newest first. */
export function OwnActivity() {
  const entries = useInfiniteQuery({
    queryKey: ['account', 'activity'],
    queryFn: ({ signal, pageParam }) =>
      api.get('/auth/audit', { query: { limit: 50, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ pageInfo }) => pageInfo.nextCursor ?? undefined,
  })
  if (!entries.data) return <ReadState {...entries} />
  return (
    <>
      <ReadState {...entries} />
      <Section flush title="What happened to this account">
        <ActivityTable
          entries={entries.data.pages.flatMap(({ data }) => data)}
          loading={entries.isPending}
          onMore={entries.hasNextPage ? () => void entries.fetchNextPage() : undefined}
          loadingMore={entries.isFetchingNextPage}
        />
      </Section>
    </>
  )
}
