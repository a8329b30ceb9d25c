import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  Button,
  CodeBlock,
  CopyValue,
  Empty,
  Fact,
  Facts,
  Loading,
  Page,
  ProblemNotice,
  Section,
  Status,
  Ago,
  Time,
} from '../../ui/index.ts'
import { ProviderSignIns } from './sign-ins.tsx'

type Provider = RowOf<'GET /providers'>

const settings = `GITHUB_CLIENT_ID=…
GITHUB_CLIENT_SECRET=…`

/** The identity providers that people sign in with. They are configured by settings, so this page changes nothing. */
export function ProvidersPage() {
  const providers = useQuery({
    queryKey: ['providers'],
    queryFn: ({ signal }) => api.get('/providers', { signal }),
  })
  const list = providers.data?.data
  return (
    <Page
      title="Providers"
      description="Who people sign in with. Providers are set by environment variables or by the configuration module."
    >
      {providers.error && <ProblemNotice error={providers.error} retry={() => void providers.refetch()} />}
      {providers.isPending && <Loading />}
      {list?.map((provider) => (
        <ProviderCard key={provider.name} provider={provider} />
      ))}
      {list?.length === 0 && (
        <Empty title="No providers">Set a client id and a secret, and start the service again.</Empty>
      )}
      {list && list.every(({ builtIn }) => builtIn) && (
        <Section
          title="Add a provider"
          description="With GitHub, for instance; then start the service again."
        >
          <CodeBlock code={settings} label="Settings" />
        </Section>
      )}
    </Page>
  )
}

function ProviderCard({ provider }: { provider: Provider }) {
  const { name, label, kind, builtIn, issuer, clientId, callbackUrl, scope, users } = provider
  const client = useQueryClient()
  const check = useMutation({
    mutationFn: () => api.post('/providers/{name}/check', { params: { name } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['providers'] }),
  })
  return (
    <Section
      title={label.charAt(0).toUpperCase() + label.slice(1)}
      description={`${kind === 'openid' ? 'OpenID Connect' : 'OAuth 2.0'}${builtIn ? ', built in for demo mode' : ''}`}
      actions={
        <Button
          small
          busy={check.isPending}
          aria-label={`Check now: ${label}`}
          onClick={() => check.mutate()}
        >
          Check now
        </Button>
      }
    >
      {check.error && <ProblemNotice error={check.error} />}
      <Facts>
        <Fact name="State">
          <CheckResult lastCheck={provider.lastCheck} />
        </Fact>
        <Fact name="Callback URL">
          <CopyValue value={callbackUrl} label={`Copy the callback URL of ${label}`} />
        </Fact>
        <Fact name="Sign-ins">
          <ProviderSignIns signIns={provider.signIns} />
        </Fact>
        <Fact name="Users">
          {users.toLocaleString()}
          {users >= 10_000 && ' or more'} began with this provider
        </Fact>
        <Fact name="Name">
          <code>{name}</code>
        </Fact>
        {issuer !== null && <Fact name="Issuer">{issuer}</Fact>}
        <Fact name="Client id">
          <CopyValue value={clientId} label={`Copy the client id at ${label}`} />
        </Fact>
        <Fact name="Scopes">{scope === '' ? 'none' : scope}</Fact>
        <Fact name="Rules">
          <Rules rules={provider.rules} />
        </Fact>
      </Facts>
    </Section>
  )
}

function CheckResult({ lastCheck }: { lastCheck: Provider['lastCheck'] }) {
  if (lastCheck === null) return <span className="text-soft">not checked yet</span>
  const { state, text, at } = lastCheck
  return (
    <>
      <Status value={state === 'fault' ? 'failing' : state}>{state}</Status> {text}
      <span className="block text-sm text-soft">
        checked <Ago value={at} /> (<Time value={at} />)
      </span>
    </>
  )
}

function Rules({ rules }: { rules: Provider['rules'] }) {
  const { allowedEmailDomains, allowedGroups, adminGroups } = rules
  const texts = [
    allowedEmailDomains.length > 0 &&
      `Only e-mail addresses of ${allowedEmailDomains.join(', ')} may sign in.`,
    allowedGroups.length > 0 && `Only members of ${allowedGroups.join(', ')} may sign in.`,
    adminGroups.length > 0 && `Members of ${adminGroups.join(', ')} are admins.`,
    rules.exclusiveRoles && 'The groups alone decide who is an admin.',
    rules.updateProfile && 'Each sign-in updates the name and the e-mail address.',
    rules.endSession && 'A sign-out goes on to the provider.',
    rules.keepsTokens && "The provider's tokens are kept for handlers.",
  ].filter((text) => text !== false)
  if (texts.length === 0) return 'Everybody with an account there may sign in.'
  return (
    <ul>
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  )
}
