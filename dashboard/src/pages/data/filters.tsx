import { useState, type FormEvent } from 'react'
import { Button, ChoicesField, Form, SelectField, TextField } from '../../ui/index.ts'
import { isTime } from './cells.tsx'
import { filterFaults } from './filter-faults.ts'
import { localTime } from '../../ui/format.ts'
import { filtersOf, type ListSearch } from './list-search.ts'
import type { ListDescription, ListFilter } from './lists.ts'

const words: Record<ListFilter['operator'], string> = {
  equals: 'is',
  in: 'is one of',
  atLeast: 'at least',
  above: 'above',
  atMost: 'at most',
  below: 'below',
  prefix: 'begins with',
  flag: 'is',
  null: 'is missing',
  positiveWhenTrue: 'above 0',
  search: 'contains the words',
}

/** A comparison is named by its field; a flag, a search, and a parameter with a meaning of its own by the parameter. */
function labelOf({ parameter, operator, field }: ListFilter): string {
  const isNamed = operator === 'search' || operator === 'flag' || operator === 'prefix'
  return field === null || (isNamed && parameter !== field) ? parameter : `${field} ${words[operator]}`
}

/** The filters of a list. They apply when the form is sent, so that no half-typed value asks the service. */
export function Filters({
  list,
  search,
  onChange,
}: {
  list: ListDescription
  search: ListSearch
  onChange: (filters: Record<string, string>) => void
}) {
  const applied = filtersOf(search)
  const [typed, setTyped] = useState(applied)
  const [faults, setFaults] = useState(() => filterFaults(list.filters, applied))
  const [before, setBefore] = useState(JSON.stringify(applied))
  // "Back", or a link, changed the filters.
  if (before !== JSON.stringify(applied)) {
    setBefore(JSON.stringify(applied))
    setTyped(applied)
    setFaults(filterFaults(list.filters, applied))
  }
  if (list.filters.length === 0) return null
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const found = filterFaults(list.filters, typed)
    setFaults(found)
    if (found) return
    onChange(Object.fromEntries(Object.entries(typed).filter(([, value]) => value !== '')))
  }
  return (
    <Form
      problem={undefined}
      faults={faults}
      role="search"
      aria-label="Filters"
      onSubmit={submit}
      className="mb-4 flex flex-wrap items-end gap-3 rounded-lg border border-line bg-card p-3"
    >
      {list.filters.map((filter) => (
        <div key={filter.parameter} className={`${isTime(filter.type) ? 'w-56' : 'w-44'} max-md:w-full`}>
          <FilterField
            filter={filter}
            value={typed[filter.parameter] ?? ''}
            onChange={(value) => setTyped({ ...typed, [filter.parameter]: value })}
          />
        </div>
      ))}
      <Button type="submit" kind="primary">
        Apply
      </Button>
      {Object.keys(applied).length > 0 && <Button onClick={() => onChange({})}>Clear</Button>}
    </Form>
  )
}

function FilterField({
  filter,
  value,
  onChange,
}: {
  filter: ListFilter
  value: string
  onChange: (value: string) => void
}) {
  const { operator, type, values } = filter
  const common = { label: labelOf(filter), name: filter.parameter, title: filter.description }
  const options = optionsOf(filter)
  if (options)
    return (
      <SelectField
        {...common}
        options={options}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    )
  if (operator === 'in' && values)
    return (
      <ChoicesField
        {...common}
        values={values}
        chosen={values.filter((one) => new Set(listedValues(value)).has(one))}
        onChange={(chosen) => onChange(chosen.map(quoted).join(','))}
      />
    )
  if (isTime(type) && operator !== 'equals' && operator !== 'in')
    return (
      <TextField
        {...common}
        type="datetime-local"
        value={localTime(value).slice(0, 16)}
        onChange={({ target }) => onChange(target.value === '' ? '' : new Date(target.value).toISOString())}
      />
    )
  return (
    <TextField
      {...common}
      placeholder={operator === 'in' ? 'a,b' : undefined}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  )
}

/** A value with a comma stands in double quotes, as in CSV. */
function quoted(value: string): string {
  return /[",]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

function listedValues(text: string): string[] {
  const parts = text.matchAll(/"((?:[^"]|"")*)"(?:,|$)|([^,]+)/g)
  return Array.from(parts, ([, inQuotes, plain = '']) => inQuotes?.replaceAll('""', '"') ?? plain.trim())
}

/** The choices of a filter with few values; `undefined` for one that is typed. */
function optionsOf({ operator, type, values }: ListFilter): { value: string; label: string }[] | undefined {
  const any = { value: '', label: 'any' }
  if (operator === 'flag' || operator === 'null' || (operator === 'equals' && type === 'boolean'))
    return [any, { value: 'true', label: 'yes' }, { value: 'false', label: 'no' }]
  if (operator === 'positiveWhenTrue') return [any, { value: 'true', label: 'yes' }]
  if (operator === 'equals' && values) return [any, ...values.map((value) => ({ value, label: value }))]
  return undefined
}
