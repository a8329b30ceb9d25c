import { Autocomplete } from '@base-ui/react/autocomplete'
import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { addressOf } from '../api/client.ts'
import { Dialog } from '../ui/dialog.tsx'
import { entriesFor, groupsOf, rememberEntry, search, type Entry } from './found.ts'

/** ⌘K: goes to any page, ID or person. Arrows choose, Enter opens. */
export default function CommandPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const router = useRouter()
  const { entries, isSearching } = useEntries(text.trim())
  const open = (entry: Entry): void => {
    rememberEntry(entry)
    onClose()
    if (entry.isOutside) location.assign(addressOf(entry.to))
    else void router.navigate({ href: router.options.basepath + entry.to })
  }
  return (
    <Dialog open onClose={onClose} title="Search">
      <Autocomplete.Root
        inline
        open
        mode="none"
        autoHighlight="always"
        keepHighlight
        items={groupsOf(entries)}
        itemToStringValue={({ title }: Entry) => title}
        value={text}
        onValueChange={(next, { reason }) => reason !== 'item-press' && setText(next)}
      >
        <Autocomplete.Input
          aria-label="Page, ID, email address or name"
          autoComplete="off"
          spellCheck={false}
          placeholder="Page, ID, email address, name…"
          className="w-full rounded-md border border-strong bg-card px-3 py-2 placeholder:text-soft"
        />
        <Autocomplete.List aria-label="Results" className="mt-3 h-[min(50dvh,24rem)] overflow-y-auto">
          {({ label, items }: ReturnType<typeof groupsOf>[number]) => (
            <Autocomplete.Group key={label} items={items}>
              <Autocomplete.GroupLabel className="px-2 pt-2 pb-0.5 text-xs font-medium text-soft">
                {label}
              </Autocomplete.GroupLabel>
              <Autocomplete.Collection>
                {(entry: Entry) => (
                  <Autocomplete.Item
                    key={entry.key}
                    value={entry}
                    onClick={() => open(entry)}
                    className="flex min-h-9 cursor-pointer items-center gap-3 rounded-md px-2 py-1 data-[highlighted]:bg-accent-tint"
                  >
                    <span className="min-w-0 flex-1 truncate">{entry.title}</span>
                    {entry.detail && (
                      <span className="max-w-1/2 truncate text-sm text-soft">{entry.detail}</span>
                    )}
                  </Autocomplete.Item>
                )}
              </Autocomplete.Collection>
            </Autocomplete.Group>
          )}
        </Autocomplete.List>
        <Autocomplete.Status className="mt-2 text-sm text-soft">
          {isSearching
            ? 'Searching…'
            : entries.length === 0
              ? 'Nothing was found.'
              : '↑ ↓ to choose, Enter to open'}
        </Autocomplete.Status>
      </Autocomplete.Root>
    </Dialog>
  )
}

/** Milliseconds without a key press before the sources are searched: the service reads many tables. */
const pause = 200

/** Pages at once, and what the sources find. Without a text, what was opened last. */
function useEntries(text: string): { entries: Entry[]; isSearching: boolean } {
  const [asked, setAsked] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), pause)
    return () => clearTimeout(timer)
  }, [text])
  const { data, isFetching } = useQuery({
    queryKey: ['search', asked],
    queryFn: ({ signal }) => search(asked, signal),
    enabled: asked !== '',
    refetchInterval: false,
  })
  const isSettled = asked === text
  const found = isSettled && text !== '' ? (data ?? []) : []
  return { entries: entriesFor(text, found), isSearching: !isSettled || isFetching }
}
