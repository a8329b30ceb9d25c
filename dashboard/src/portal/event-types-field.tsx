import { useState } from 'react'
import { CheckField, FieldGroup, TextField } from '../ui/fields.tsx'
import { useEventTypes } from './event-types.ts'

/** Which events an endpoint gets: all, or those of the catalogue that are ticked. */
export function EventTypesField({
  chosen,
  error,
  onChange,
}: {
  chosen: readonly string[]
  error: string | undefined
  onChange: (chosen: readonly string[]) => void
}) {
  const { data = [] } = useEventTypes()
  const [typed, setTyped] = useState(chosen.filter((type) => type !== '*').join(', '))
  const all = chosen.includes('*')
  const catalogued = data.map(({ type, description }) => ({ type, description }))
  // Patterns such as `order.*`, and types that left the catalogue.
  const others = chosen.filter((type) => type !== '*' && !data.some((one) => one.type === type))
  const entries = [...catalogued, ...others.map((type) => ({ type, description: null }))]
  const toggle = (type: string): void =>
    onChange(chosen.includes(type) ? chosen.filter((one) => one !== type) : [...chosen, type])
  return (
    <FieldGroup label="Event types" name="eventTypes" error={error}>
      <CheckField label="All, also those to come" checked={all} onChange={() => onChange(all ? [] : ['*'])} />
      {!all && data.length === 0 && (
        <TextField
          label="Types"
          hint="Separated by commas; order.* for all that begin with order."
          value={typed}
          onChange={({ target }) => {
            setTyped(target.value)
            onChange(
              target.value
                .split(',')
                .map((type) => type.trim())
                .filter((type) => type !== ''),
            )
          }}
        />
      )}
      {!all && data.length > 0 && (
        <div className="mt-1 flex max-h-64 flex-col gap-1 overflow-auto rounded-md border border-line p-2">
          {entries.map(({ type, description }) => (
            <CheckField
              key={type}
              label={type}
              hint={description}
              checked={chosen.includes(type)}
              onChange={() => toggle(type)}
            />
          ))}
        </div>
      )}
    </FieldGroup>
  )
}
