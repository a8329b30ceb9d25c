import { getRouteApi } from '@tanstack/react-router'
import { useSession } from '../../api/session.ts'
import { Badge, CopyValue, Fact, Facts, Page, Section, Tabs } from '../../ui/index.ts'
import { OwnActivity } from './own-activity.tsx'
import { OwnApps } from './own-apps.tsx'
import { OwnDevices } from './own-devices.tsx'
import { OwnIdentities } from './own-identities.tsx'

const route = getRouteApi('/account')

/** What a person sees and does with their own account. */
export function AccountPage() {
  const { user } = useSession()
  const { tab = 'devices' } = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <Page title="Account" description="Your profile, and where you are signed in.">
      <Section>
        <div className="flex items-start gap-4">
          {user.picture !== null && (
            <img
              src={user.picture}
              alt=""
              referrerPolicy="no-referrer"
              className="size-14 shrink-0 rounded-full border border-line"
            />
          )}
          <Facts>
            <Fact name="Name">{user.name ?? 'none'}</Fact>
            <Fact name="Email address">
              {user.email ?? 'none'}{' '}
              {user.email !== null && <Badge>{user.email_verified ? 'verified' : 'not verified'}</Badge>}
            </Fact>
            <Fact name="Role">{user.role}</Fact>
            <Fact name="ID">
              <CopyValue value={user.id} label="Copy your ID" />
            </Fact>
          </Facts>
        </div>
      </Section>
      <Tabs
        label="Parts of your account"
        value={tab}
        onChange={(next) => void navigate({ search: (before) => ({ ...before, tab: next }), replace: true })}
        tabs={[
          { value: 'devices', label: 'Devices', content: <OwnDevices /> },
          { value: 'identities', label: 'Identities', content: <OwnIdentities /> },
          { value: 'apps', label: 'Apps', content: <OwnApps /> },
          { value: 'activity', label: 'Activity', content: <OwnActivity /> },
        ]}
      />
    </Page>
  )
}
