import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Client } from 'postern-client/api'
import { createContext, use } from 'react'
import type { BodyOf } from '../api/answers.ts'
import { api } from '../api/client.ts'
import { seldomChanges } from '../api/refresh.ts'

/** The calls about endpoints. Those of the portal have the same bodies and answers below `/portal`, and reach the customer's own only. */
export const callsOf = (api: Client, below: '' | '/portal') => {
  // The types of both are the same.
  const path = below as ''
  return {
    eventTypes: (signal: AbortSignal) => api.get('/event-types', { signal }),
    destinations: (signal: AbortSignal) => api.get(`${path}/destinations`, { signal }),
    verification: (id: string, signal: AbortSignal) =>
      api.get(`${path}/subscribers/{id}/verification`, { params: { id }, signal }),
    rotate: (id: string, body: BodyOf<'POST /subscribers/{id}/rotate-secret'>) =>
      api.post(`${path}/subscribers/{id}/rotate-secret`, { params: { id }, body }),
    change: (id: string, body: BodyOf<'PATCH /subscribers/{id}'>) =>
      api.patch(`${path}/subscribers/{id}`, { params: { id }, body }),
    deliveries: (id: string, signal: AbortSignal) =>
      api.get(`${path}/subscribers/{id}/deliveries`, { params: { id }, query: { limit: 20 }, signal }),
    transformationForms: (signal: AbortSignal) => api.get(`${path}/transformations/forms`, { signal }),
    testTransformation: (body: BodyOf<'POST /transformations/test'>) =>
      api.post(`${path}/transformations/test`, { body }),
    replay: (id: string, body: BodyOf<'POST /subscribers/{id}/replay'>) =>
      api.post(`${path}/subscribers/{id}/replay`, { params: { id }, body }),
    jobs: async (id: string, signal: AbortSignal) =>
      (await api.get(`${path}/subscribers/{id}/jobs`, { params: { id }, signal })).data,
    stopJob: (id: string) => api.delete(`${path}/jobs/{id}`, { params: { id } }),
  }
}

/** The dashboard's calls, unless the portal provides its own. */
export const Calls = createContext(callsOf(api, ''))
export const useCalls = () => use(Calls)

/** After a change: reads again what is shown, wherever it may show. */
export function useRefresh(): () => Promise<void> {
  const client = useQueryClient()
  return () => client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
}

/** The declared event types, and those of the service itself. */
export function useEventTypes() {
  const { eventTypes } = useCalls()
  return useQuery({
    queryKey: ['event-types'],
    queryFn: ({ signal }) => eventTypes(signal),
    ...seldomChanges,
  })
}

/** The kinds of endpoints other than HTTP, which the configuration declares. */
export function useDestinations() {
  const { destinations } = useCalls()
  const { data } = useQuery({
    queryKey: ['destinations'],
    queryFn: ({ signal }) => destinations(signal),
    ...seldomChanges,
  })
  return data?.items
}
