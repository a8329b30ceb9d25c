import { words } from '../language/words.ts'
import { bindFields } from '../ui/bind-fields.ts'
import { CheckField, SelectField, TextArea, TextField } from '../ui/fields.tsx'
import type { AuthForm, SettingsForm, TlsForm } from './settings-form.ts'

interface Part {
  form: SettingsForm
  set: (change: Partial<SettingsForm>) => void
}

/** Which of the events that have its types an endpoint gets. */
export function FilterFields({ form, set }: Part) {
  const { settings } = words
  const { text } = bindFields(form, set)
  return (
    <>
      <TextArea label={settings.conditions} rows={3} hint={settings.conditionsHint} {...text('conditions')} />
      <TextField label={settings.channels} hint={settings.channelsHint} {...text('channels')} />
    </>
  )
}

/** How requests are signed. */
export function SignatureFields({ form, set }: Part) {
  const { settings } = words
  const { text, check } = bindFields(form, set)
  const signings = [
    { value: 'v1', label: settings.secret },
    { value: 'v1a', label: settings.keyPair },
    { value: 'both', label: settings.both },
  ]
  const headers = [
    { value: 'webhook', label: 'webhook-id, webhook-timestamp, webhook-signature' },
    { value: 'svix', label: 'svix-id, svix-timestamp, svix-signature' },
    { value: 'both', label: settings.both },
  ]
  return (
    <>
      <SelectField label={settings.signatures} options={signings} {...text('signing')} />
      {form.destination === '' && (
        <>
          <SelectField label={settings.signatureHeaders} options={headers} {...text('signatureHeaders')} />
          <CheckField
            label={settings.httpSignature}
            hint={settings.httpSignatureHint}
            {...check('httpSignature')}
          />
        </>
      )}
    </>
  )
}

/** How requests authenticate, and their certificates. */
export function CredentialFields({ form, set }: Part) {
  const { settings } = words
  const auth = bindFields(form.auth, (change: Partial<AuthForm>) =>
    set({ auth: { ...form.auth, ...change } }),
  )
  const tls = bindFields(form.tls, (change: Partial<TlsForm>) => set({ tls: { ...form.tls, ...change } }))
  const types = [
    { value: '', label: settings.noAuthentication },
    { value: 'basic', label: settings.basic },
    { value: 'bearer', label: settings.bearer },
    { value: 'oauth', label: settings.oauth },
  ]
  return (
    <>
      <SelectField label={settings.authentication} options={types} {...auth.text('type')} />
      {form.auth.type === 'basic' && (
        <>
          <TextField
            label={settings.user}
            required
            maxLength={256}
            autoComplete="off"
            {...auth.text('user')}
          />
          <Secret label={settings.password} {...auth.text('password')} />
        </>
      )}
      {form.auth.type === 'bearer' && <Secret label={settings.token} {...auth.text('token')} />}
      {form.auth.type === 'oauth' && (
        <>
          <TextField
            label={settings.tokenUrl}
            type="url"
            required
            maxLength={2048}
            {...auth.text('tokenUrl')}
          />
          <TextField
            label={settings.clientId}
            required
            maxLength={256}
            autoComplete="off"
            {...auth.text('clientId')}
          />
          <Secret label={settings.clientSecret} {...auth.text('clientSecret')} />
          <TextField label={settings.scope} maxLength={1024} {...auth.text('scope')} />
          <TextField label={settings.audience} maxLength={1024} {...auth.text('audience')} />
        </>
      )}
      <TextArea label={settings.certificate} rows={2} {...tls.text('certificate')} />
      <TextArea label={settings.privateKey} rows={2} {...tls.text('key')} />
      <TextArea label={settings.authority} rows={2} hint={settings.authorityHint} {...tls.text('ca')} />
    </>
  )
}

function Secret(props: Parameters<typeof TextField>[0]) {
  return <TextField type="password" required autoComplete="new-password" {...props} />
}

/** How requests are made, and which responses count. */
export function RequestFields({ form, set }: Part) {
  const { settings } = words
  const { text, check } = bindFields(form, set)
  const methods = ['POST', 'PUT', 'PATCH']
  const bodies = [
    { value: 'event', label: settings.wholeEvent },
    { value: 'data', label: settings.dataOnly },
  ]
  return (
    <>
      <SelectField label={settings.method} options={methods} {...text('method')} />
      <TextField
        label={settings.successStatuses}
        hint={settings.statusesHint}
        placeholder="2xx"
        {...text('successStatuses')}
      />
      <TextField
        label={settings.noRetryStatuses}
        hint={settings.statusesHint}
        placeholder="410"
        {...text('noRetryStatuses')}
      />
      <CheckField label={settings.gzip} {...check('gzip')} />
      <SelectField label={settings.body} options={bodies} {...text('body')} />
    </>
  )
}
