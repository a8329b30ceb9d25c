import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react'
import { api } from '../api/client.ts'
import { classes } from '../ui/classes.ts'
import { Dialog } from '../ui/dialog.tsx'
import { entriesFor, entryOf, rememberEntry, type Entry } from './found.ts'

/** ⌘K: goes to any page, id or person. Arrows choose, Enter opens. */
export default function CommandPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const router = useRouter()
  const { entries, isSearching } = useEntries(text.trim())
  const active = Math.min(chosen, entries.length - 1)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const open = (entry: Entry | undefined): void => {
    if (!entry) return
    rememberEntry(entry)
    onClose()
    void router.navigate({ href: router.options.basepath + entry.to })
  }
  const choose = (next: number): void => {
    const at = (next + entries.length) % Math.max(1, entries.length)
    setChosen(at)
    list.current?.querySelectorAll('[role=option]')[at]?.scrollIntoView({ block: 'nearest' })
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const moves: Record<string, number> = { ArrowDown: active + 1, ArrowUp: active - 1 }
    const next = moves[event.key]
    if (next !== undefined) choose(next)
    else if (event.key === 'Enter') open(entries[active])
    else return
    event.preventDefault()
  }
  return (
    <Dialog open onClose={onClose} title="Search">
      <input
        role="combobox"
        aria-label="Page, id, e-mail address or name"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={entries[active] && `${id}-${active}`}
        autoComplete="off"
        spellCheck={false}
        placeholder="Page, id, e-mail address, name…"
        value={text}
        onChange={({ target }) => (setText(target.value), setChosen(0))}
        onKeyDown={onKeyDown}
        className="w-full rounded-md border border-strong bg-card px-3 py-2 placeholder:text-soft"
      />
      <div
        ref={list}
        id={`${id}-list`}
        role="listbox"
        aria-label="Results"
        className="mt-3 h-[min(50dvh,24rem)] overflow-y-auto"
      >
        {entries.map((entry, at) => (
          <button
            type="button"
            tabIndex={-1}
            key={entry.key}
            id={`${id}-${at}`}
            role="option"
            aria-selected={at === active}
            onClick={() => open(entry)}
            onMouseMove={() => setChosen(at)}
            className={classes(
              'flex min-h-9 w-full text-left cursor-pointer items-center gap-3 rounded-md px-2 py-1',
              at === active && 'bg-accent-tint',
            )}
          >
            <span className="w-24 shrink-0 text-xs text-soft">
              {entries[at - 1]?.group === entry.group ? '' : entry.group}
            </span>
            <span className="min-w-0 flex-1 truncate">{entry.title}</span>
            {entry.detail && <span className="max-w-1/2 truncate text-sm text-soft">{entry.detail}</span>}
          </button>
        ))}
      </div>
      <p role="status" className="mt-2 text-sm text-soft">
        {isSearching
          ? 'Searching…'
          : entries.length === 0
            ? 'Nothing was found.'
            : '↑ ↓ to choose, Enter to open'}
      </p>
    </Dialog>
  )
}

/** Milliseconds without a key press before the service is searched: a search reads many tables. */
const pause = 200

/** Pages at once, and what the service finds. Without a text, what was opened last. */
function useEntries(text: string): { entries: Entry[]; isSearching: boolean } {
  const [asked, setAsked] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), pause)
    return () => clearTimeout(timer)
  }, [text])
  const { data, isFetching } = useQuery({
    queryKey: ['search', asked],
    queryFn: ({ signal }) => api.get('/search', { query: { q: asked }, signal }),
    enabled: asked !== '',
    refetchInterval: false,
  })
  const isSettled = asked === text
  const found = isSettled && text !== '' ? (data?.data ?? []) : []
  return { entries: entriesFor(text, found.map(entryOf)), isSearching: !isSettled || isFetching }
}
