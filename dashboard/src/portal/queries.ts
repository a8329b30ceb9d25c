import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { refreshEvery } from '../api/refresh.ts'
import { isOver } from './client.ts'

/** Its own cache: a session that ends leads to a message here, and not to the sign-in page. */
export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: closeWhenOver }),
  mutationCache: new MutationCache({ onError: closeWhenOver }),
  defaultOptions: { queries: { staleTime: refreshEvery, refetchInterval: refreshEvery, retry: false } },
})

/** Any page may be the first that hears of the end of the session. */
function closeWhenOver(error: unknown): void {
  if (isOver(error)) closePages()
}

/** Shows the page without a link, and forgets what was read. Nothing polls any more. */
export function closePages(): void {
  queries.setQueryData(['session'], null)
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
}
