import { useNavigate, useSearch } from '@tanstack/react-router'
import { SlidersHorizontal, X } from 'lucide-react'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { Button } from './button.tsx'
import { classes } from './classes.ts'
import { CheckField, SelectField, TextField } from './fields.tsx'
import { localTime } from './format.ts'

export interface Filter {
  /** The parameter in the address. */
  name: string
  label: string
  /** `check` is `1` in the address when it is ticked. Default: `choice` with options, otherwise `text`. */
  type?: 'text' | 'time' | 'check'
  options?: readonly (string | { value: string; label: string })[]
  placeholder?: string
  hint?: string
  title?: string
  /** What may be typed; it completes the text. */
  suggestions?: readonly string[]
  /** Shown only after "More filters". */
  more?: boolean
  /** What is wrong with a text. It is shown, and not applied. */
  check?: (value: string) => string | undefined
  /** Another input than the usual one. */
  input?: (value: string, onChange: (value: string) => void) => ReactNode
}

/** Milliseconds without a key press after which a text applies. */
const pause = 300
/** Parameters that belong to the rows shown, and so end when a filter changes. */
const ofRows = { page: undefined, peek: undefined, row: undefined }
/** On a telephone, filters beyond these wait behind "More filters". */
const shownOnPhone = 2

/** The filters of a list. They apply at once, a text when typing pauses, and the address keeps them. */
export function FilterBar({ label, filters }: { label: string; filters: readonly Filter[] }) {
  const search: Record<string, string | number | boolean | undefined> = useSearch({ strict: false })
  const navigate = useNavigate()
  const valueOf = ({ name }: Filter): string => {
    return String(search[name] ?? '')
  }
  const set = (change: Record<string, string>, replace: boolean): void =>
    void navigate({
      to: '.',
      search: ((before: object) => ({ ...before, ...ofRows, ...emptyRemoved(change) })) as never,
      replace,
      resetScroll: false,
    })
  const isHidden = (filter: Filter, at: number): boolean => filter.more === true || at >= shownOnPhone
  const [open, setOpen] = useState(() => filters.some((one, at) => valueOf(one) !== '' && isHidden(one, at)))
  const hasMore = filters.some(({ more }) => more)
  return (
    <div
      role="search"
      aria-label={label}
      className="mb-4 grid grid-cols-2 items-end gap-3 sm:grid-cols-[repeat(auto-fill,minmax(10.5rem,1fr))]"
    >
      {filters.map((filter, at) => (
        <div
          key={filter.name}
          className={classes(
            'min-w-0',
            !open && filter.more && 'hidden',
            !open && at >= shownOnPhone && 'max-sm:hidden',
          )}
        >
          <Input
            filter={filter}
            value={valueOf(filter)}
            onChange={(value, replace) => set({ [filter.name]: value }, replace)}
          />
        </div>
      ))}
      <div className="flex min-h-9 min-w-0 flex-wrap items-center gap-1 empty:hidden">
        {filters.length > shownOnPhone && (
          <Button
            kind="quiet"
            className={hasMore ? '' : 'sm:hidden'}
            aria-expanded={open}
            icon={<SlidersHorizontal size={16} aria-hidden />}
            onClick={() => setOpen(!open)}
          >
            {open ? 'Fewer filters' : 'More filters'}
          </Button>
        )}
        {filters.some((one) => valueOf(one) !== '') && (
          <Button
            kind="quiet"
            icon={<X size={16} aria-hidden />}
            onClick={() => set(Object.fromEntries(filters.map(({ name }) => [name, ''])), false)}
          >
            Clear
          </Button>
        )}
      </div>
    </div>
  )
}

interface InputProps {
  filter: Filter
  value: string
  /** @param replace whether it takes the place of the address before in the history */
  onChange: (value: string, replace: boolean) => void
}

function Input({ filter, value, onChange }: InputProps) {
  const { name, label, hint, title, type, options, input } = filter
  const common = { name, label, hint, title }
  if (input) return input(value, (next) => onChange(next, false))
  if (options)
    return (
      <SelectField
        {...common}
        options={options}
        value={value}
        onChange={({ target }) => onChange(target.value, false)}
      />
    )
  if (type === 'check')
    return (
      <div className="flex min-h-9 items-center">
        <CheckField
          label={label}
          checked={value !== ''}
          onChange={({ target }) => onChange(target.checked ? '1' : '', false)}
        />
      </div>
    )
  return <TypedInput filter={filter} value={value} onChange={onChange} />
}

/** A text or a time, which applies when typing pauses. */
function TypedInput({ filter, value, onChange }: InputProps) {
  const { name, label, hint, title, placeholder, suggestions, type, check } = filter
  const isTime = type === 'time'
  const toText = (applied: string): string => (isTime ? localTime(applied).slice(0, 16) : applied)
  const [text, setText] = useState(() => toText(value))
  const [known, setKnown] = useState(value)
  const [sent, setSent] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  // The address changes by Back and by links, too. What was sent from here must not undo what was typed since.
  if (value !== known) {
    setKnown(value)
    if (value !== sent) {
      setSent(value)
      setText(toText(value))
    }
  }
  const fault = text === '' ? undefined : check?.(text.trim())
  const apply = (typed: string): void => {
    clearTimeout(timer.current)
    const trimmed = typed.trim()
    if (trimmed !== '' && check?.(trimmed) !== undefined) return
    const next = isTime && trimmed !== '' ? new Date(trimmed).toISOString() : trimmed
    if (next === value) return
    setSent(next)
    onChange(next, value !== '')
  }
  const list = suggestions && `filter-${name}`
  return (
    <>
      <TextField
        {...{ name, label, hint, title, placeholder, list }}
        type={isTime ? 'datetime-local' : 'search'}
        error={fault}
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          clearTimeout(timer.current)
          timer.current = setTimeout(() => apply(target.value), pause)
        }}
        onBlur={() => apply(text)}
        onKeyDown={({ key }) => key === 'Enter' && apply(text)}
      />
      {suggestions && (
        <datalist id={list}>
          {[...new Set(suggestions)].toSorted().map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </>
  )
}

const emptyRemoved = (change: Record<string, string>): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(change).map(([name, value]) => [name, value || undefined]))
