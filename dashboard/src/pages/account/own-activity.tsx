import { useInfiniteQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
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
  return <ActivityTable entries={entries} title="What happened to this account" />
}
