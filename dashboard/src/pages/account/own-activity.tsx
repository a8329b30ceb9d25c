import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import { ActivityTable } from './activity-table.tsx'

/** The account's audit log, newest first. */
export function OwnActivity() {
  const entries = usePages({
    key: ['account', 'activity'],
    read: (cursor, signal) => api.get('/auth/audit', { query: { limit: 50, cursor }, signal }),
    idOf: ({ id }) => id,
  })
  return <ActivityTable entries={entries} title="Account activity" />
}
