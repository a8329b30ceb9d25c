import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import type { AppDetail, BodyOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { Button, CheckField, Form, Section, SelectField, TextArea, TextField, toast } from '../../ui/index.ts'
import { linesOf } from '../../ui/lines.ts'
import { secondsOf, textOf } from './form-values.ts'

type Change = BodyOf<'PATCH /clients/{id}'>

const flags = [
  ['firstParty', 'First-party app', 'Skip the consent screen.'],
  ['clientCredentials', 'Client credentials', 'The app can get tokens for itself, without a user.'],
  ['deviceGrant', 'Device sign-in', 'For TVs and command lines without a browser (RFC 8628).'],
  [
    'admin',
    'Admin role in tokens',
    'When an admin signs in, the tokens grant the admin role to anyone who has them.',
  ],
  ['managesSessions', 'Manage sessions', 'The app can list and end all sessions of its user.'],
] as const

/** All settings of an app in one form. Empty fields select the default. */
export function AppSettings({ app }: { app: AppDetail }) {
  const client = useQueryClient()
  const save = useMutation({
    mutationFn: (body: Change) => api.patch('/clients/{id}', { params: { id: app.id }, body }),
    onSuccess: async () => {
      toast('Settings saved')
      await client.invalidateQueries({ queryKey: ['apps'] })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    save.mutate(readForm(new FormData(event.currentTarget), app))
  }
  return (
    <Section>
      <Form problem={save.error} onSubmit={submit}>
        <fieldset disabled={app.declared} className="grid gap-4 lg:grid-cols-2">
          <legend className="sr-only">Settings of {app.name}</legend>
          <TextField label="Name" name="name" required maxLength={100} defaultValue={app.name} />
          <AlgorithmField app={app} />
          <Lines
            label="Redirect URIs"
            name="redirectUris"
            values={app.redirectUris}
            hint="One per line. Must match exactly."
          />
          <Lines
            label="Post-logout redirect URIs"
            name="postLogoutRedirectUris"
            values={app.postLogoutRedirectUris}
            hint="Where the app may redirect after a sign-out. One per line."
          />
          <Lines
            label="Scopes"
            name="scopes"
            values={app.scopes}
            hint="Scopes that the app may request. One per line. Leave empty for the default."
          />
          <Lines
            label="Audiences"
            name="audiences"
            values={app.audiences}
            hint="Other APIs that the app may request tokens for. One per line."
          />
          <TextField
            label="Back-channel logout URI"
            name="backchannelLogoutUri"
            type="url"
            defaultValue={app.backchannelLogoutUri ?? ''}
            hint="Receives a request when a session ends."
          />
          <TextField
            label="Default audience"
            name="audience"
            defaultValue={app.audience?.join(' ') ?? ''}
            hint="Leave empty for this service."
          />
          <Seconds
            label="Access token lifetime"
            name="accessTokenLifetime"
            max={3600}
            value={app.accessTokenLifetime}
          />
          <Seconds
            label="Refresh token lifetime"
            name="refreshTokenLifetime"
            max={1e9}
            value={app.refreshTokenLifetime}
          />
          <ClaimsField app={app} />
          <div className="grid gap-3 lg:col-span-2 lg:grid-cols-2">
            {flags.map(([name, label, hint]) => (
              <CheckField key={name} name={name} label={label} hint={hint} defaultChecked={app[name]} />
            ))}
          </div>
        </fieldset>
        {!app.declared && (
          <div className="mt-5">
            <Button kind="primary" type="submit" busy={save.isPending}>
              Save
            </Button>
          </div>
        )}
      </Form>
    </Section>
  )
}

function AlgorithmField({ app }: { app: AppDetail }) {
  return (
    <SelectField
      label="ID token algorithm"
      name="idTokenAlgorithm"
      defaultValue={app.idTokenAlgorithm}
      options={['ES256', 'RS256', 'EdDSA']}
    />
  )
}

function ClaimsField({ app }: { app: AppDetail }) {
  return (
    <SelectField
      label="ID token claims"
      name="idTokenClaims"
      defaultValue={app.idTokenClaims}
      options={[
        { value: 'scopes', label: 'Claims of the granted scopes' },
        { value: 'minimal', label: 'Only requested claims' },
      ]}
      hint="The userinfo endpoint returns the claims of the scopes in either case."
    />
  )
}

function Lines({
  label,
  name,
  values,
  hint,
}: {
  label: string
  name: string
  values: readonly string[]
  hint: string
}) {
  return <TextArea label={label} name={name} rows={3} defaultValue={values.join('\n')} hint={hint} />
}

function Seconds({
  label,
  name,
  max,
  value,
}: {
  label: string
  name: string
  max: number
  value: number | null
}) {
  return (
    <TextField
      label={label}
      name={name}
      type="number"
      min={60}
      max={max}
      defaultValue={value ?? ''}
      hint="In seconds. Leave empty for the default."
    />
  )
}

/** Only what changed, so that the audit log names what the person did. */
function readForm(form: FormData, app: AppDetail): Change {
  const text = (name: string): string => textOf(form, name)
  const audience = text('audience').split(/\s+/).filter(Boolean)
  const all = {
    name: text('name'),
    redirectUris: linesOf(text('redirectUris')),
    postLogoutRedirectUris: linesOf(text('postLogoutRedirectUris')),
    scopes: linesOf(text('scopes')),
    audiences: linesOf(text('audiences')),
    audience: audience.length === 0 ? null : audience,
    backchannelLogoutUri: text('backchannelLogoutUri') || null,
    idTokenAlgorithm: text('idTokenAlgorithm') as AppDetail['idTokenAlgorithm'],
    idTokenClaims: text('idTokenClaims') as AppDetail['idTokenClaims'],
    accessTokenLifetime: secondsOf(text('accessTokenLifetime')),
    refreshTokenLifetime: secondsOf(text('refreshTokenLifetime')),
    ...(Object.fromEntries(flags.map(([name]) => [name, form.get(name) === 'on'])) as Record<
      (typeof flags)[number][0],
      boolean
    >),
  }
  const changed = Object.entries(all).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(app[name as keyof typeof all]),
  )
  const body = Object.fromEntries(changed) as Change
  if (body.scopes?.length === 0) body.scopes = null
  // The API rejects a request without a change.
  return changed.length === 0 ? { name: all.name } : body
}
