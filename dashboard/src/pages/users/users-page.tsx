import { commandLine } from '../../api/boot.ts'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { RowOf } from '../../api/answers.ts'
import { addressOf, api } from '../../api/client.ts'
import {
  Ago,
  Badge,
  DataTable,
  DownloadLink,
  Empty,
  Page,
  Pager,
  ProblemNotice,
  Section,
  type Column,
} from '../../ui/index.ts'
import { UserFilters } from './user-filters.tsx'
import { userFilters, type UserSearch } from './filters.ts'

type User = RowOf<'GET /users'>

const route = getRouteApi('/users')
const limit = 50

/** Users: search, filters, pages, export. */
export function UsersPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const filters = userFilters(search)
  const page = Number(search.page ?? 1)
  const users = useQuery({
    queryKey: ['users', filters, page],
    queryFn: ({ signal }) => api.get('/users', { query: { ...filters, limit, page }, signal }),
    placeholderData: keepPreviousData,
  })
  const change = (changes: UserSearch): void =>
    void navigate({ search: (before) => ({ ...before, page: undefined, ...changes }) })
  const filtered = Boolean(search.q || search.role || search.blocked || search.provider || search.seen)
  const exported = `/users.csv?${new URLSearchParams(filters).toString()}`
  return (
    <Page
      title="Users"
      description="Everyone who has signed in or was imported."
      actions={
        <DownloadLink href={addressOf(exported)} download="users.csv">
          Export CSV
        </DownloadLink>
      }
    >
      <UserFilters />
      {users.error && <ProblemNotice error={users.error} retry={() => void users.refetch()} />}
      <Section flush>
        <DataTable
          label="Users"
          columns={columnsFor(search.sort, (sort) => change({ sort }))}
          rows={users.data?.data ?? []}
          rowKey={({ id }) => id}
          loading={users.isPending}
          error={users.error}
          empty={<NoUsers filtered={filtered} />}
        />
      </Section>
      {users.data && (
        <Pager pagination={users.data.pagination} one="user" onGo={(to) => change({ page: String(to) })} />
      )}
    </Page>
  )
}

function columnsFor(sort: string | undefined, onSort: (sort: string | undefined) => void): Column<User>[] {
  const bySeen = sort === '-lastSeenAt' ? 'desc' : sort === 'lastSeenAt' ? 'asc' : undefined
  const byId = sort === undefined || sort === '-id' ? 'desc' : sort === 'id' ? 'asc' : undefined
  return [
    {
      key: 'user',
      header: 'User',
      cell: ({ id, name, email }) => (
        <Link to="/users/$id" params={{ id }} className="font-medium hover:underline">
          {name ?? email ?? id}
          {name && email && <span className="block truncate text-sm font-normal text-soft">{email}</span>}
        </Link>
      ),
    },
    {
      key: 'role',
      header: 'Role',
      width: '7rem',
      cell: ({ role }) => (role === 'admin' ? <Badge tone="info">admin</Badge> : role),
    },
    {
      key: 'status',
      header: 'Status',
      width: '8rem',
      cell: ({ blockedAt }) => (blockedAt === null ? 'active' : <Badge tone="danger">blocked</Badge>),
    },
    { key: 'provider', header: 'Provider', width: '9rem', cell: ({ provider }) => provider },
    {
      key: 'seen',
      header: 'Last seen',
      width: '10rem',
      cell: ({ lastSeenAt }) => <Ago value={lastSeenAt} />,
      sort: { direction: bySeen, onSort: () => onSort(bySeen === 'desc' ? 'lastSeenAt' : '-lastSeenAt') },
    },
    {
      key: 'created',
      header: 'Created',
      width: '10rem',
      cell: ({ createdAt }) => <Ago value={createdAt} />,
      sort: { direction: byId, onSort: () => onSort(byId === 'desc' ? 'id' : undefined) },
    },
  ]
}

function NoUsers({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <Empty title="No user matches these filters">
      Search matches the beginning of the email address, name and ID, or an identity such as github:123.
    </Empty>
  ) : (
    <Empty title="No users yet" command={commandLine('import users users.csv')}>
      A user appears at the first sign-in. Users of another system can be imported.
    </Empty>
  )
}
