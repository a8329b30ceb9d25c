import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import type { RowOf } from '../../api/answers.ts'
import { addressOf, api } from '../../api/client.ts'
import {
  Ago,
  Badge,
  Button,
  DataTable,
  Empty,
  Page,
  ProblemNotice,
  Section,
  type Column,
} from '../../ui/index.ts'
import { UserFilterBar } from './filter-bar.tsx'
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
  const change = (changes: UserSearch, replace = false): void =>
    void navigate({ search: (before) => ({ ...before, page: undefined, ...changes }), replace })
  const filtered = Boolean(search.q || search.role || search.blocked || search.provider || search.seen)
  const exported = `/users.csv?${new URLSearchParams(filters).toString()}`
  return (
    <Page
      title="Users"
      description="Everybody who signed in here, or was imported."
      actions={
        <a
          href={addressOf(exported)}
          download="users.csv"
          className="inline-flex min-h-9 items-center gap-1.5 rounded-md border border-line bg-card px-3 py-1.5 font-medium hover:border-strong"
        >
          <Download size={16} aria-hidden /> {filtered ? 'Export these as CSV' : 'Export CSV'}
        </a>
      }
    >
      <UserFilterBar search={search} onChange={change} />
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
      {users.data && <Pager {...users.data.pagination} onGo={(to) => change({ page: String(to) })} />}
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
      key: 'access',
      header: 'Access',
      width: '8rem',
      cell: ({ blockedAt }) => (blockedAt === null ? 'may sign in' : <Badge tone="danger">blocked</Badge>),
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
      hideOnPhone: true,
      cell: ({ createdAt }) => <Ago value={createdAt} />,
      sort: { direction: byId, onSort: () => onSort(byId === 'desc' ? 'id' : undefined) },
    },
  ]
}

function NoUsers({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <Empty title="No user matches">
      The search looks at the beginning of the e-mail address, the name and the id.
    </Empty>
  ) : (
    <Empty title="No users yet" command="npx postern import users users.csv">
      A user appears at the first sign-in. Users of another system can be imported.
    </Empty>
  )
}

function Pager({
  page,
  total,
  totalPages,
  hasNext,
  estimated,
  onGo,
}: {
  page: number
  total: number
  totalPages: number
  hasNext: boolean
  estimated?: true
  onGo: (page: number) => void
}) {
  const count = `${total.toLocaleString()}${estimated ? ' or more' : ''} ${total === 1 ? 'user' : 'users'}`
  return (
    <nav aria-label="Pages of users" className="flex flex-wrap items-center gap-3">
      <p role="status" className="flex-1 text-soft">
        {count}
        {totalPages > 1 && ` · page ${page.toLocaleString()}`}
      </p>
      {(page > 1 || hasNext) && (
        <>
          <Button disabled={page <= 1} onClick={() => onGo(page - 1)}>
            Previous
          </Button>
          <Button disabled={!hasNext} onClick={() => onGo(page + 1)}>
            Next
          </Button>
        </>
      )}
    </nav>
  )
}
