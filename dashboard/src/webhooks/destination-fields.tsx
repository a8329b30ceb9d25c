import type { ReactNode } from 'react'
import { words } from '../language/words.ts'
import { FieldGroup, SelectField, TextArea, TextField } from '../ui/fields.tsx'
import { useDestinations } from './calls.ts'
import type { SettingsForm } from './settings-form.ts'

interface Part {
  form: SettingsForm
  set: (change: Partial<SettingsForm>) => void
}

/** Where an endpoint gets its events: a new one chooses the kind, where there are several. `children` are the fields of HTTP. */
export function TargetFields({ form, set, isNew, children }: Part & { isNew: boolean; children: ReactNode }) {
  const { settings } = words
  const kinds = useDestinations() ?? []
  const options = [
    { value: '', label: settings.http },
    ...kinds.map(({ name, title }) => ({ value: name, label: title })),
  ]
  const { destination } = form
  const title = kinds.find(({ name }) => name === destination)?.title ?? destination
  return (
    <>
      {isNew && kinds.length > 0 && (
        <SelectField
          label={settings.destination}
          name="destination"
          options={options}
          value={destination}
          onChange={({ target }) => set({ destination: target.value, settings: '{}', secrets: {} })}
        />
      )}
      {!isNew && destination !== '' && <TextField label={settings.destination} readOnly value={title} />}
      {destination === '' ? children : <DestinationFields form={form} set={set} />}
    </>
  )
}

/** The declared fields of a destination. A kind without fields has its settings as JSON. */
function DestinationFields({ form, set }: Part) {
  const { settings: texts } = words
  const kinds = useDestinations()
  if (!kinds || form.settings === '') return null
  // The service discards stored secrets when a setting changes.
  const change = (settings: string): void =>
    set({ settings, ...(Object.values(form.secrets).includes(redacted) && { secrets: {} }) })
  const fields = kinds.find(({ name }) => name === form.destination)?.fields ?? []
  if (fields.length === 0)
    return (
      <TextArea
        label={texts.settings}
        name="settings"
        value={form.settings}
        onChange={({ target }) => change(target.value)}
      />
    )
  const values = JSON.parse(form.settings) as Record<string, unknown>
  return (
    <FieldGroup label={texts.settings} name="/settings">
      <div className="grid gap-4 rounded-md border border-line p-3">
        {fields.map(({ name, label, description, secret, required }) => {
          const common = {
            label,
            required,
            maxLength: 16_384,
            ...(description !== null && { hint: description }),
          }
          return secret ? (
            <TextField
              key={name}
              {...common}
              name={`/secrets/${name}`}
              type="password"
              autoComplete="new-password"
              value={form.secrets[name] ?? ''}
              onChange={({ target }) => set({ secrets: { ...form.secrets, [name]: target.value } })}
            />
          ) : (
            <TextField
              key={name}
              {...common}
              name={`/settings/${name}`}
              value={textOf(values[name])}
              onChange={({ target: { value } }) =>
                change(JSON.stringify({ ...values, [name]: value === '' ? undefined : value }, null, 2))
              }
            />
          )
        })}
      </div>
    </FieldGroup>
  )
}

/** What the API shows in place of a stored secret. */
const redacted = '[redacted]'

const textOf = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
