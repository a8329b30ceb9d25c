import { useQuery } from '@tanstack/react-query'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { seldomChanges } from '../../api/refresh.ts'

export type Setting = RowOf<'GET /settings'>

/** The settings in force in the process that answered. */
export const useSettings = () =>
  useQuery({
    queryKey: ['settings'],
    queryFn: ({ signal }) => api.get('/settings', { signal }),
    ...seldomChanges,
  })

export function useSetting(name: string): Setting | undefined {
  return useSettings().data?.data.find((setting) => setting.name === name)
}
