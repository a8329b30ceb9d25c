import { useState } from 'react'
import { words } from '../language/words.ts'
import { CheckField, FieldGroup, TextField } from '../ui/fields.tsx'
import { useEventTypes } from './calls.ts'

/** The event types of a text that separates them by commas or spaces. */
export const readTypes = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

/** Which events an endpoint gets: all, or the declared ones that are ticked, and others and patterns as a text. */
export function EventTypesField({
  chosen,
  onChange,
}: {
  chosen: readonly string[]
  onChange: (chosen: string[]) => void
}) {
  const { data: types } = useEventTypes()
  const data = types?.data.filter(({ builtIn }) => !builtIn) ?? []
  const all = chosen.includes('*')
  const isDeclared = (type: string): boolean => data.some((one) => one.type === type)
  const ticked = chosen.filter(isDeclared)
  const [typed, setTyped] = useState<string>()
  const others = chosen.filter((type) => type !== '*' && !isDeclared(type))
  return (
    <FieldGroup
      label={words.eventTypes.label}
      name="eventTypes"
      error={chosen.length === 0 ? words.eventTypes.chooseOne : undefined}
    >
      <CheckField label={words.eventTypes.all} checked={all} onChange={() => onChange(all ? [] : ['*'])} />
      {!all && (
        <div className="mt-1 flex flex-col gap-2">
          {data.length > 0 && (
            <div className="flex max-h-64 flex-col gap-1 overflow-auto rounded-md border border-line p-2">
              {data.map(({ type, description }) => (
                <CheckField
                  key={type}
                  label={type}
                  hint={description}
                  checked={chosen.includes(type)}
                  onChange={() =>
                    onChange(chosen.includes(type) ? chosen.filter((one) => one !== type) : [...chosen, type])
                  }
                />
              ))}
            </div>
          )}
          <TextField
            label={data.length > 0 ? words.eventTypes.others : words.eventTypes.patterns}
            hint={words.eventTypes.hint}
            value={typed ?? others.join(', ')}
            onChange={({ target: { value } }) => {
              setTyped(value)
              onChange([...ticked, ...readTypes(value).filter((type) => !ticked.includes(type))])
            }}
          />
        </div>
      )}
    </FieldGroup>
  )
}
