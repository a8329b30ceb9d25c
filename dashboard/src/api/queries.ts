import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { boot } from './boot.ts'
import { isProblem, PosternError } from './client.ts'
import { refreshEvery } from './refresh.ts'

/** The cache of what pages read. What a visible page shows is read again by one rule; a query says so where it needs another. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: signInWhenNeeded }),
  mutationCache: new MutationCache({ onError: signInWhenNeeded }),
  defaultOptions: {
    queries: {
      staleTime: refreshEvery,
      refetchInterval: refreshEvery,
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
