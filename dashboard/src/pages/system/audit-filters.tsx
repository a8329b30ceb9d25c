import { X } from 'lucide-react'
import { useState, type FormEvent } from 'react'
import { Button, SelectField, TextField } from '../../ui/index.ts'
import type { AuditSearch } from './audit-query.ts'

const results = [
  { value: '', label: 'All results' },
  { value: 'failed', label: 'Failures' },
  { value: 'succeeded', label: 'Successes' },
]
const texts = [
  ['action', 'Action', 'user.blocked'],
  ['actor', 'By', 'user:… or key:…'],
  ['userId', 'Account', 'user id'],
  ['target', 'Target', 'subscriber:…'],
  ['address', 'Address', '192.0.2.1'],
] as const

/** The filters of the log; the address of the page keeps them. */
export function AuditFilters({
  search,
  onChange,
  actions,
}: {
  search: AuditSearch
  onChange: (change: Partial<AuditSearch>) => void
  actions: readonly string[]
}) {
  const isFiltered = Object.values(search).some((value) => value !== undefined)
  return (
    <div className="mb-4 grid grid-cols-2 items-end gap-3 sm:grid-cols-3 lg:grid-cols-[repeat(6,minmax(0,1fr))_auto]">
      {texts.map(([name, label, placeholder]) => (
        // A filter that changes elsewhere, by a button or by going back, begins anew.
        <FilterText
          key={`${name} ${search[name] ?? ''}`}
          label={label}
          placeholder={placeholder}
          value={search[name] ?? ''}
          list={name === 'action' ? 'audit-actions' : undefined}
          onChange={(value) => onChange({ [name]: value === '' ? undefined : value })}
        />
      ))}
      <SelectField
        label="Result"
        options={results}
        value={search.result ?? ''}
        onChange={({ target }) => onChange({ result: target.value === '' ? undefined : target.value })}
      />
      {isFiltered && (
        <Button
          kind="quiet"
          icon={<X size={16} aria-hidden />}
          onClick={() =>
            onChange({
              action: undefined,
              userId: undefined,
              actor: undefined,
              target: undefined,
              address: undefined,
              result: undefined,
            })
          }
        >
          Clear
        </Button>
      )}
      <datalist id="audit-actions">
        {[...new Set(actions)].toSorted().map((action) => (
          <option key={action} value={action} />
        ))}
      </datalist>
    </div>
  )
}

/** Applies with Enter, and when the focus leaves it. */
function FilterText({
  label,
  placeholder,
  value,
  list,
  onChange,
}: {
  label: string
  placeholder: string
  value: string
  list: string | undefined
  onChange: (value: string) => void
}) {
  const [text, setText] = useState(value)
  const apply = (): void => {
    if (text.trim() !== value) onChange(text.trim())
  }
  return (
    <form
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        apply()
      }}
    >
      <TextField
        label={label}
        placeholder={placeholder}
        value={text}
        list={list}
        onChange={({ target }) => setText(target.value)}
        onBlur={apply}
      />
    </form>
  )
}
