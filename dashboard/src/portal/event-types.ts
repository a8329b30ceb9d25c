import { seldomChanges } from '../api/refresh.ts'
import { useQuery } from '@tanstack/react-query'
import { api } from './client.ts'

/** The catalogue of events that can be sent, without those that the service itself emits. */
export const useEventTypes = () =>
  useQuery({
    queryKey: ['event-types'],
    queryFn: async ({ signal }) =>
      (await api.get('/event-types', { signal })).data.filter(({ builtIn }) => !builtIn),
    ...seldomChanges,
  })
