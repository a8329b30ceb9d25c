import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { FilterBar } from '../../ui/index.ts'
import { seenChoices } from './filters.ts'

/** The search and the filters of users. */
export function UserFilters() {
  const providers = useQuery({
    queryKey: ['providers'],
    queryFn: ({ signal }) => api.get('/providers', { signal }),
  })
  const names = providers.data?.data.map(({ name, label }) => ({ value: name, label })) ?? []
  return (
    <FilterBar
      label="Filter users"
      filters={[
        { name: 'q', label: 'Search users', placeholder: 'Name, email or ID', title: 'Or provider:id' },
        {
          name: 'blocked',
          label: 'Status',
          options: [
            { value: '', label: 'All statuses' },
            { value: 'no', label: 'Active' },
            { value: 'yes', label: 'Blocked' },
          ],
        },
        {
          name: 'role',
          label: 'Role',
          options: [
            { value: '', label: 'All roles' },
            { value: 'admin', label: 'Admin' },
            { value: 'user', label: 'User' },
          ],
        },
        { name: 'provider', label: 'Provider', options: [{ value: '', label: 'All providers' }, ...names] },
        { name: 'seen', label: 'Last seen', options: seenChoices },
      ]}
    />
  )
}
