import { useNavigate } from '@tanstack/react-router'
import { Search, X } from 'lucide-react'
import { useState, type FormEvent } from 'react'
import { Button, Field, SelectField, TextField } from '../../ui/index.ts'
import { bodyNames, filterNames, type Chosen, type FilterName } from './filter.ts'

const statuses = [
  'pending',
  'retrying',
  'blocked',
  'processed',
  'unhandled',
  'failed',
  'delivered',
  'unsubscribed',
]
const moreNames: readonly FilterName[] = ['eventId', 'orderKey', 'since', 'until', 'path', 'value', 'text']

/** What the list shows. Choices apply at once, texts with Enter. */
export function Filters({ chosen }: { chosen: Chosen }) {
  const navigate = useNavigate({ from: '/events' })
  const [more, setMore] = useState(moreNames.some((name) => chosen[name] !== undefined))
  const isFiltered = Object.keys(chosen).length > 0
  const apply = (change: Chosen): void =>
    void navigate({ search: (before) => ({ ...before, ...emptyRemoved(change), peek: undefined }) })
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const texts = [...form].map(([name, value]) => [name, typeof value === 'string' ? value.trim() : ''])
    apply(Object.fromEntries(texts) as Chosen)
  }
  const clear = (): void => {
    const none = Object.fromEntries([...filterNames, ...bodyNames].map((name) => [name, '']))
    apply(none)
  }
  return (
    <form
      key={JSON.stringify(chosen)}
      role="search"
      aria-label="Filter events"
      onSubmit={submit}
      className="mb-4 rounded-lg border border-line bg-card p-3"
    >
      <div className="grid grid-cols-2 items-end gap-2 [&_:is(select,input)]:min-h-9.5 lg:grid-cols-[repeat(4,minmax(0,1fr))_auto]">
        <SelectField
          label="Status"
          name="status"
          defaultValue={chosen.status ?? ''}
          options={[{ value: '', label: 'Any' }, ...statuses]}
          onChange={({ target }) => apply({ status: target.value })}
        />
        <SelectField
          label="Direction"
          name="direction"
          defaultValue={chosen.direction ?? ''}
          options={[
            { value: '', label: 'In and out' },
            { value: 'received', label: 'Received' },
            { value: 'emitted', label: 'Emitted' },
          ]}
          onChange={({ target }) => apply({ direction: target.value })}
        />
        <TextField label="Type" name="type" defaultValue={chosen.type} placeholder="order.* or order.paid" />
        <TextField label="Source" name="source" defaultValue={chosen.source} placeholder="provider" />
        <div className="col-span-2 flex flex-wrap gap-2 lg:col-span-1">
          <Button type="submit" kind="primary" icon={<Search size={16} aria-hidden />}>
            Search
          </Button>
          <Button aria-expanded={more} onClick={() => setMore(!more)}>
            {more ? 'Fewer' : 'More'} filters
          </Button>
          {isFiltered && (
            <Button kind="quiet" icon={<X size={16} aria-hidden />} onClick={clear}>
              Clear
            </Button>
          )}
        </div>
      </div>
      {more && <MoreFilters chosen={chosen} />}
    </form>
  )
}

function MoreFilters({ chosen }: { chosen: Chosen }) {
  return (
    <div className="mt-3 grid grid-cols-1 gap-2 border-t border-line pt-3 sm:grid-cols-2 lg:grid-cols-4">
      <TextField label="Event id" name="eventId" defaultValue={chosen.eventId} />
      <TextField label="Order key" name="orderKey" defaultValue={chosen.orderKey} />
      <DateField label="From" name="since" value={chosen.since} />
      <DateField label="To" name="until" value={chosen.until} />
      <TextField
        label="Text in the body"
        name="text"
        defaultValue={chosen.text}
        hint="Exact, upper and lower case differ"
      />
      <TextField
        label="Field of the body"
        name="path"
        defaultValue={chosen.path}
        placeholder="data.customer"
      />
      <TextField label="Value of the field" name="value" defaultValue={chosen.value} placeholder="cus_1" />
    </div>
  )
}

/** The address holds the time in UTC; the field shows it in the time zone of the viewer. */
function DateField({ label, name, value }: { label: string; name: string; value: string | undefined }) {
  const [local, setLocal] = useState(value === undefined ? '' : toLocal(value))
  return (
    <Field label={label}>
      {(ids) => (
        <>
          <input
            {...ids}
            type="datetime-local"
            value={local}
            onChange={({ target }) => setLocal(target.value)}
            className="w-full rounded-md border border-strong bg-card px-2.5 py-1.5 text-ink"
          />
          <input type="hidden" name={name} value={local === '' ? '' : new Date(local).toISOString()} />
        </>
      )}
    </Field>
  )
}

function toLocal(value: string): string {
  const time = new Date(value)
  if (Number.isNaN(time.getTime())) return ''
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

function emptyRemoved(change: Chosen): Chosen {
  return Object.fromEntries(Object.entries(change).map(([name, value]) => [name, value || undefined]))
}
