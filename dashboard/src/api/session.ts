import { useSuspenseQuery } from '@tanstack/react-query'
import { boot, type Session } from './boot.ts'
import { api } from './client.ts'

/** The signed-in person. */
export function useSession(): Session {
  const { data } = useSuspenseQuery({
    queryKey: ['session'],
    queryFn: ({ signal }) => api.get('/auth/session', { signal }),
    staleTime: Infinity,
    refetchInterval: false,
    ...(boot.session && { initialData: boot.session }),
  })
  return data
}

export const useIsAdmin = (): boolean => useSession().user.role === 'admin'
