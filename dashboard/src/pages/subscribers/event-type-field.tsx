import { seldomChanges } from '../../api/refresh.ts'
import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { api } from '../../api/client.ts'
import { TextField } from '../../ui/index.ts'

export const readTypes = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

/** The catalogue of event types. */
export function useEventTypes() {
  return useQuery({
    queryKey: ['event-types'],
    queryFn: ({ signal }) => api.get('/event-types', { signal }),
    ...seldomChanges,
  })
}

/** Event types, with the declared ones to choose from. */
export function EventTypeField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const id = useId()
  const { data } = useEventTypes()
  const chosen = new Set(readTypes(value))
  const declared = data?.data.filter(({ builtIn }) => !builtIn).map(({ type }) => type) ?? []
  const toggle = (type: string): void => {
    const next = new Set(chosen)
    next.delete('*')
    if (!next.delete(type)) next.add(type)
    onChange([...next].join(', ') || '*')
  }
  return (
    <div>
      <TextField
        label="Event types"
        name="eventTypes"
        hint="Separated by commas. * means all, order.* all that begin with order."
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      {declared.length > 0 && (
        <ul className="mt-2 flex flex-wrap gap-x-4 gap-y-1" aria-label="Declared event types">
          {declared.slice(0, 50).map((type) => (
            <li key={type} className="flex min-h-6 items-center gap-1.5">
              <input
                type="checkbox"
                id={`${id}-${type}`}
                className="size-4"
                checked={chosen.has(type) || chosen.has('*')}
                onChange={() => toggle(type)}
              />
              <label htmlFor={`${id}-${type}`} className="font-mono text-sm">
                {type}
              </label>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
