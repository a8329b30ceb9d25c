import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  Button,
  CopyValue,
  Empty,
  Fact,
  Facts,
  formatNumber,
  Loading,
  Page,
  ProblemNotice,
  Section,
  Status,
  Ago,
  Time,
  WithCode,
} from '../../ui/index.ts'
import { AddProviderDialog } from './add-provider.tsx'
import { ProviderSignIns } from './sign-ins.tsx'

type Provider = RowOf<'GET /providers'>

/** The identity providers that people sign in with. They are configured by settings, so this page changes nothing. */
export function ProvidersPage() {
  const [adding, setAdding] = useState(false)
  const providers = useQuery({
    queryKey: ['providers'],
    queryFn: ({ signal }) => api.get('/providers', { signal }),
  })
  const list = providers.data?.data
  return (
    <Page
      title="Providers"
      description="Identity providers that users sign in with."
      primary={
        <Button kind="primary" icon={<Plus size={17} aria-hidden />} onClick={() => setAdding(true)}>
          Add provider
        </Button>
      }
    >
      {providers.error && <ProblemNotice error={providers.error} retry={() => void providers.refetch()} />}
      {providers.isPending && <Loading />}
      {list?.map((provider) => (
        <ProviderCard key={provider.name} provider={provider} />
      ))}
      {list?.length === 0 && (
        <Empty title="No providers" action={<Button onClick={() => setAdding(true)}>Add provider</Button>} />
      )}
      <AddProviderDialog open={adding} onClose={() => setAdding(false)} />
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
          {formatNumber(users)}
          {users >= 10_000 && ' or more'} signed up with this provider
        </Fact>
        <Fact name="Name">
          <code>{name}</code>
        </Fact>
        {issuer !== null && <Fact name="Issuer">{issuer}</Fact>}
        <Fact name="Client ID">
          <CopyValue value={clientId} label={`Copy the client ID at ${label}`} />
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
  if (lastCheck === null) return <span className="text-soft">Not checked yet</span>
  const { state, text, at } = lastCheck
  return (
    <>
      <Status value={state === 'fault' ? 'failing' : state}>{state === 'fault' ? 'error' : state}</Status>{' '}
      <WithCode text={text} />
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
      `Only email addresses at ${allowedEmailDomains.join(', ')} can sign in.`,
    allowedGroups.length > 0 && `Only members of ${allowedGroups.join(', ')} can sign in.`,
    adminGroups.length > 0 && `Members of ${adminGroups.join(', ')} are admins.`,
    rules.exclusiveRoles && 'Only these groups grant the admin role.',
    rules.updateProfile && 'Each sign-in updates the name and email address.',
    rules.endSession && 'Signing out also signs out at the provider.',
    rules.keepsTokens && "Stores the provider's tokens for handlers.",
  ].filter((text) => text !== false)
  if (texts.length === 0) return 'Anyone with an account at this provider can sign in.'
  return (
    <ul>
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  )
}
