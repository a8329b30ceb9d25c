import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { AppDetail } from '../../api/answers.ts'
import { addressOf, api, isProblem } from '../../api/client.ts'
import { NotFoundPage } from '../../layout/faults.tsx'
import {
  Badge,
  CodeBlock,
  CopyValue,
  Fact,
  Facts,
  Notice,
  Page,
  ReadState,
  Section,
  Tabs,
} from '../../ui/index.ts'
import { AppSecrets } from './app-secrets.tsx'
import { AppSettings } from './app-settings.tsx'
import { AppSignIns } from './app-sign-ins.tsx'
import { DeleteApp } from './delete-app.tsx'
import { TrySignIn } from './try-sign-in.tsx'

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
      up={<Link to="/apps">Apps</Link>}
      beside={
        <>
          {app.declared && <Badge>from configuration</Badge>}
          {app.registered && <Badge tone="warn">self-registered</Badge>}
        </>
      }
      actions={
        <>
          <TrySignIn app={app} />
          {!app.declared && <DeleteApp app={app} />}
        </>
      }
    >
      <ReadState {...query} />
      {app.declared && <Notice>This app is declared in the configuration module. Edit it there.</Notice>}
      <Section>
        <Facts>
          <Fact name="Client ID">
            <CopyValue value={app.id} label="Copy the client ID" />
          </Fact>
          <Fact name="Issuer">
            <CopyValue value={addressOf('')} label="Copy the issuer" />
          </Fact>
          <Fact name="Discovery URL">
            <CopyValue
              value={addressOf('/.well-known/openid-configuration')}
              label="Copy the discovery URL"
            />
          </Fact>
          <Fact name="Type">
            {app.confidential
              ? 'Confidential (authenticates with a secret or key)'
              : 'Public (PKCE without a secret)'}
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
          { value: 'code', label: 'Code', content: <AppCode app={app} /> },
          { value: 'sign-ins', label: 'Sign-ins', content: <AppSignIns app={app} /> },
        ]}
      />
    </Page>
  )
}

/** Starts a sign-in with a usual client library. */
function AppCode({ app: { id, confidential, jwks, redirectUris } }: { app: AppDetail }) {
  const secret = jwks
    ? ', undefined, oidc.PrivateKeyJwt(privateKey)'
    : confidential
      ? ', process.env.CLIENT_SECRET'
      : ''
  const redirectUri = redirectUris[0] ?? 'https://app.example.com/callback'
  return (
    <Section
      title="Sign in with openid-client"
      description="Redirect the browser to url. At the redirect URI, pass the request's URL and the verifier to authorizationCodeGrant."
    >
      <CodeBlock
        label="Code that starts a sign-in"
        code={`import * as oidc from 'openid-client'

const config = await oidc.discovery(
  new URL('${addressOf('')}'),
  '${id}'${secret},
)
const verifier = oidc.randomPKCECodeVerifier()
const url = oidc.buildAuthorizationUrl(config, {
  redirect_uri: '${redirectUri}',
  scope: 'openid profile email',
  code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
})`}
      />
    </Section>
  )
}
