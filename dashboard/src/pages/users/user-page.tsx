import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { UserDetail } from '../../api/answers.ts'
import { api, isProblem } from '../../api/client.ts'
import { NotFoundPage } from '../../layout/faults.tsx'
import { Ago, Badge, CopyValue, Fact, Facts, Page, ReadState, Section, Tabs, Time } from '../../ui/index.ts'
import { UserActions } from './user-actions.tsx'
import { UserActivity, UserApps, UserDevices, UserIdentities } from './user-tabs.tsx'

const route = getRouteApi('/users/$id')

/** One user: what is known, and what an administrator can do. */
export function UserPage() {
  const { id } = route.useParams()
  const { tab = 'devices' } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery({
    queryKey: ['users', 'one', id],
    queryFn: ({ signal }) => api.get('/users/{id}', { params: { id }, signal }),
  })
  if (isProblem(query.error, 404)) return <NotFoundPage />
  if (!query.data) return <ReadState {...query} />
  const user = query.data
  const { counts } = user
  return (
    <Page
      title={user.name ?? user.email ?? user.id}
      up={<Link to="/users">Users</Link>}
      beside={
        <>
          {user.role === 'admin' && <Badge tone="info">admin</Badge>}
          {user.blockedAt !== null && <Badge tone="danger">blocked</Badge>}
        </>
      }
      actions={<UserActions user={user} />}
    >
      <ReadState {...query} />
      <Section>
        <UserFacts user={user} />
      </Section>
      <Tabs
        label="User details"
        value={tab}
        onChange={(next) => void navigate({ search: (before) => ({ ...before, tab: next }), replace: true })}
        tabs={[
          {
            value: 'devices',
            label: `Devices (${counts.browsers + counts.apps})`,
            content: <UserDevices user={user} />,
          },
          {
            value: 'identities',
            label: `Identities (${counts.identities})`,
            content: <UserIdentities id={id} />,
          },
          { value: 'apps', label: 'Apps', content: <UserApps id={id} /> },
          { value: 'audit', label: 'Audit log', content: <UserActivity id={id} /> },
        ]}
      />
    </Page>
  )
}

const adminBy = {
  role: 'granted by an administrator',
  ADMIN_IDENTITIES: 'set by ADMIN_IDENTITIES; change it there',
  groups: 'set by a group at the provider; change it there',
}

function UserFacts({ user }: { user: UserDetail }) {
  const { id, email, emailVerified, groups, provider, providerId, role, blockedAt } = user
  return (
    <Facts>
      <Fact name="Email address">
        {email ?? 'none'} {email !== null && <Badge>{emailVerified ? 'verified' : 'not verified'}</Badge>}
      </Fact>
      <Fact name="ID">
        <CopyValue value={id} label="Copy ID" />
      </Fact>
      <Fact name="First identity">
        <CopyValue value={`${provider}:${providerId}`} label="Copy identity" />
      </Fact>
      <Fact name="Role">
        {role}
        {user.adminBy !== null && <span className="text-soft"> · {adminBy[user.adminBy]}</span>}
      </Fact>
      {groups.length > 0 && <Fact name="Groups">{groups.join(', ')}</Fact>}
      {blockedAt !== null && (
        <Fact name="Blocked">
          <Time value={blockedAt} />
        </Fact>
      )}
      <Fact name="Last seen">
        <Ago value={user.lastSeenAt} />
      </Fact>
      <Fact name="Created">
        <Time value={user.createdAt} />
      </Fact>
    </Facts>
  )
}
