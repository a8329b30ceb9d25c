import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { seldomChanges } from '../../api/refresh.ts'

const newest = 100

/** Types that the newest deliveries and endpoints name, and that the configuration does not declare. */
export function useTypesInUse(declared: readonly { type: string }[]): string[] {
  const { data } = useQuery({
    queryKey: ['types-in-use'],
    queryFn: async ({ signal }) => {
      const [deliveries, endpoints] = await Promise.all([
        api.get('/deliveries', { query: { limit: newest }, signal }),
        api.get('/subscribers', { query: { limit: newest }, signal }),
      ])
      return [
        ...deliveries.data.map(({ eventType }) => eventType),
        ...endpoints.data.flatMap(({ eventTypes }) => eventTypes),
      ]
    },
    ...seldomChanges,
  })
  const known = new Set(declared.map(({ type }) => type))
  const used = (data ?? []).filter(
    (type) => !known.has(type) && !type.includes('*') && !type.startsWith('postern.'),
  )
  return [...new Set(used)].toSorted()
}
