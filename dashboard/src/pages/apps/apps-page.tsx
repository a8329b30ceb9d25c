import { getRouteApi, Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import {
  Badge,
  Button,
  DataTable,
  Empty,
  Page,
  ProblemNotice,
  Section,
  Time,
  type Column,
} from '../../ui/index.ts'
import { NewAppDialog } from './new-app.tsx'

export type App = RowOf<'GET /clients'>

const route = getRouteApi('/apps')

/** The applications that sign in here. */
export function AppsPage() {
  const { new: creating } = route.useSearch()
  const navigate = route.useNavigate()
  const apps = usePages({
    key: ['apps'],
    read: (cursor, signal) => api.get('/clients', { query: { limit: 50, cursor }, signal }),
    idOf: ({ id }) => id,
  })
  const open = (isOpen: boolean): void =>
    void navigate({ search: (before) => ({ ...before, new: isOpen ? 'app' : undefined }) })
  return (
    <Page
      title="Apps"
      description="Applications whose users sign in with this service."
      primary={
        <Button kind="primary" icon={<Plus size={16} aria-hidden />} onClick={() => open(true)}>
          Add app
        </Button>
      }
    >
      {apps.error && <ProblemNotice error={apps.error} retry={apps.retry} />}
      <Section flush>
        <DataTable
          label="Apps"
          columns={columns}
          rows={apps.rows}
          rowKey={({ id }) => id}
          loading={apps.loading}
          error={apps.error}
          onMore={apps.onMore}
          loadingMore={apps.loadingMore}
          empty={
            <Empty title="No apps yet">
              Add your web, mobile or command line application, and its users sign in here with OpenID
              Connect.
            </Empty>
          }
        />
      </Section>
      <NewAppDialog open={creating !== undefined} onClose={() => open(false)} />
    </Page>
  )
}

const columns: Column<App>[] = [
  {
    key: 'name',
    header: 'App',
    cell: ({ id, name }) => (
      <Link to="/apps/$id" params={{ id }} className="font-medium hover:underline">
        {name}
      </Link>
    ),
  },
  {
    key: 'origin',
    header: 'Added by',
    width: '10rem',
    cell: ({ declared, registered }) =>
      declared ? 'configuration' : registered ? <Badge tone="warn">self-registered</Badge> : 'administrator',
  },
  {
    key: 'kind',
    header: 'Type',
    width: '15rem',
    cell: ({ confidential, firstParty }) =>
      `${confidential ? 'Confidential' : 'Public'}, ${firstParty ? 'first-party' : 'asks for consent'}`,
  },
  {
    key: 'redirects',
    header: 'Redirect URIs',
    cell: ({ redirectUris }) =>
      redirectUris.length === 0 ? (
        <span className="text-soft">none</span>
      ) : (
        <span title={redirectUris.join('\n')}>
          {redirectUris[0]}
          {redirectUris.length > 1 && ` and ${redirectUris.length - 1} more`}
        </span>
      ),
  },
  {
    key: 'created',
    header: 'Created',
    width: '11rem',
    cell: ({ createdAt }) => (createdAt === null ? '' : <Time value={createdAt} />),
  },
]
