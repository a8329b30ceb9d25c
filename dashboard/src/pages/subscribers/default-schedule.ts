import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { seldomChanges } from '../../api/refresh.ts'

/** The retry schedule of endpoints without one of their own: seconds before each attempt. */
export function useDefaultSchedule(): string | undefined {
  const { data } = useQuery({
    queryKey: ['settings'],
    queryFn: ({ signal }) => api.get('/settings', { signal }),
    ...seldomChanges,
  })
  const value = data?.data.find(({ name }) => name === 'EMIT_RETRY_SCHEDULE')?.value
  return value?.split(',').join(', ')
}
