import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { addressOf, api, isProblem } from '../../api/client.ts'
import { NotFoundPage } from '../../layout/faults.tsx'
import { Badge, CopyValue, Fact, Facts, Notice, Page, ReadState, Section, Tabs } from '../../ui/index.ts'
import { AppSecrets } from './app-secrets.tsx'
import { AppSettings } from './app-settings.tsx'
import { AppSignIns } from './app-sign-ins.tsx'
import { DeleteApp } from './delete-app.tsx'

const route = getRouteApi('/apps/$id')

/** One app: who is signed in, its settings and its secrets. */
export function AppPage() {
  const { id } = route.useParams()
  const { tab = 'settings' } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery({
    queryKey: ['apps', id],
    queryFn: ({ signal }) => api.get('/clients/{id}', { params: { id }, signal }),
  })
  if (isProblem(query.error, 404)) return <NotFoundPage />
  if (!query.data) return <ReadState {...query} />
  const app = query.data
  const secrets = app.confidential && !app.declared && app.jwks === null
  return (
    <Page
      title={app.name}
      beside={
        <>
          {app.declared && <Badge>in the configuration</Badge>}
          {app.registered && <Badge tone="warn">registered itself</Badge>}
        </>
      }
      actions={!app.declared && <DeleteApp app={app} />}
    >
      <ReadState {...query} />
      {app.declared && (
        <Notice>
          This app is declared in the configuration module. Change it there; this page only shows it.
        </Notice>
      )}
      <Section>
        <Facts>
          <Fact name="Client id">
            <CopyValue value={app.id} label="Copy the client id" />
          </Fact>
          <Fact name="Issuer">
            <CopyValue value={addressOf('')} label="Copy the issuer" />
          </Fact>
          <Fact name="Kind">
            {app.confidential ? 'confidential: it authenticates' : 'public: it has no secret and uses PKCE'}
          </Fact>
        </Facts>
      </Section>
      <Tabs
        label="Parts of the app"
        value={tab}
        onChange={(next) => void navigate({ search: (before) => ({ ...before, tab: next }), replace: true })}
        tabs={[
          { value: 'settings', label: 'Settings', content: <AppSettings key={app.updatedAt} app={app} /> },
          ...(secrets ? [{ value: 'secrets', label: 'Secrets', content: <AppSecrets app={app} /> }] : []),
          { value: 'sign-ins', label: 'Sign-ins', content: <AppSignIns app={app} /> },
        ]}
      />
    </Page>
  )
}
