import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { boot } from './boot.ts'
import { isProblem, PosternError } from './client.ts'

/**
 * The cache of what pages read. A key begins with the topic of the live stream that changes it (`['deliveries', …]`), so that
 * live.ts can refetch all that shows it.
 */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: signInWhenNeeded }),
  mutationCache: new MutationCache({ onError: signInWhenNeeded }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The client repeats what may be repeated already.
      retry: false,
      refetchOnWindowFocus: true,
    },
  },
})

/** A session that ended, and an action that asks for a recent sign-in, lead to /login and back to this page. */
function signInWhenNeeded(error: unknown): void {
  if (isProblem(error, 'reauthentication-needed')) goToLogin('reauthentication-needed')
  else if (error instanceof PosternError && error.status === 401) goToLogin()
}

export function goToLogin(reason?: string): void {
  const query = new URLSearchParams({ return_to: location.pathname + location.search })
  if (reason !== undefined) query.set('error', reason)
  location.assign(`${boot.basePath}/login?${query.toString()}`)
}
