import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { api } from '../../api/client.ts'
import { SelectField, TextField } from '../../ui/index.ts'
import { seenChoices, type UserSearch } from './filters.ts'

/** Milliseconds without a key press after which the search runs. */
const pause = 250

/** The search and the filters of users. They are kept in the address. */
export function UserFilterBar({
  search,
  onChange,
}: {
  search: UserSearch
  onChange: (changes: UserSearch, replace?: boolean) => void
}) {
  const providers = useQuery({
    queryKey: ['providers'],
    queryFn: ({ signal }) => api.get('/providers', { signal }),
  })
  const names = providers.data?.data.map(({ name, label }) => ({ value: name, label })) ?? []
  return (
    <div role="search" className="mb-4 grid gap-3 sm:grid-cols-2 lg:grid-cols-[2fr_1fr_1fr_1fr_1.5fr]">
      <SearchField value={search.q ?? ''} onSearch={(q) => onChange({ q }, true)} />
      <SelectField
        label="Role"
        hideLabel
        value={search.role ?? ''}
        onChange={({ target }) => onChange({ role: target.value })}
        options={[
          { value: '', label: 'Any role' },
          { value: 'admin', label: 'Admins' },
          { value: 'user', label: 'Users' },
        ]}
      />
      <SelectField
        label="Access"
        hideLabel
        value={search.blocked ?? ''}
        onChange={({ target }) => onChange({ blocked: target.value })}
        options={[
          { value: '', label: 'Blocked or not' },
          { value: 'yes', label: 'Blocked' },
          { value: 'no', label: 'May sign in' },
        ]}
      />
      <SelectField
        label="Provider"
        hideLabel
        value={search.provider ?? ''}
        onChange={({ target }) => onChange({ provider: target.value })}
        options={[{ value: '', label: 'Any provider' }, ...names]}
      />
      <SelectField
        label="Last seen"
        hideLabel
        value={search.seen ?? ''}
        onChange={({ target }) => onChange({ seen: target.value })}
        options={seenChoices}
      />
    </div>
  )
}

function SearchField({ value, onSearch }: { value: string; onSearch: (text: string) => void }) {
  const [text, setText] = useState(value)
  const [sent, setSent] = useState(value)
  const [known, setKnown] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // The address changes by Back and Forward, too. What was sent from here must not undo what was typed since.
  if (value !== known) {
    setKnown(value)
    if (value !== sent) {
      setSent(value)
      setText(value)
    }
  }
  const type = (next: string): void => {
    setText(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      setSent(next)
      onSearch(next)
    }, pause)
  }
  return (
    <TextField
      label="Search users"
      hideLabel
      type="search"
      placeholder="E-mail, name, id or provider:id"
      value={text}
      onChange={({ target }) => type(target.value)}
    />
  )
}
