import { Link } from '@tanstack/react-router'
import { ChevronRight, CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react'
import { Loading, ProblemNotice } from '../../ui/notices.tsx'
import { Section } from '../../ui/page.tsx'
import { elapsedInWords } from '../../ui/duration-words.ts'
import { formatExact } from '../../ui/format.ts'
import type { AttentionItem, useAttention } from './data.ts'
import { usePausedRows } from './paused.tsx'

/** Problems and paused work, each with a link to where it can be solved. */
export function Attention({ query: { data, error, refetch } }: { query: ReturnType<typeof useAttention> }) {
  const items = data?.data
  const paused = usePausedRows()
  return (
    <Section title="Needs attention" flush>
      {error && (
        <div className="px-4">
          <ProblemNotice error={error} retry={() => void refetch()} />
        </div>
      )}
      {!items && !error && <Loading />}
      {items?.length === 0 && paused.length === 0 && (
        <p className="flex items-center gap-2 px-4 pb-4 text-soft">
          <CircleCheck size={18} aria-hidden className="text-ok" /> Nothing needs attention.
        </p>
      )}
      {items && items.length + paused.length > 0 && (
        <ul className="border-t border-line">
          {items.map((item) => (
            <AttentionRow key={`${item.kind} ${item.about.id}`} item={item} />
          ))}
          {paused}
        </ul>
      )}
    </Section>
  )
}

function AttentionRow({ item }: { item: AttentionItem }) {
  const { severity, text, since } = item
  const isError = severity === 'error'
  const Icon = isError ? CircleAlert : TriangleAlert
  const { to, search } = placeOf(item)
  return (
    <li className="border-b border-line last:border-b-0">
      <Link
        to={to}
        search={(before: object) => ({ ...before, ...search })}
        className="flex items-center gap-3 px-4 py-2.5 hover:bg-sunken"
      >
        <Icon size={18} aria-hidden className={`shrink-0 ${isError ? 'text-danger' : 'text-warn'}`} />
        <span className="sr-only">{isError ? 'Error:' : 'Warning:'}</span>
        <span className="min-w-0 flex-1 break-words">
          {text}
          {since !== null && (
            <span className="block text-sm text-soft">
              for{' '}
              <time dateTime={since} title={formatExact(new Date(since))}>
                {elapsedInWords(since)}
              </time>
            </span>
          )}
        </span>
        <ChevronRight size={16} aria-hidden className="shrink-0 text-soft" />
      </Link>
    </li>
  )
}

/** Where an item can be looked at and mended. */
function placeOf({ about: { topic, id } }: AttentionItem): { to: string; search?: Record<string, string> } {
  const name = encodeURIComponent(id)
  switch (topic) {
    case 'handler':
      return { to: '/failures', search: { handler: id } }
    case 'source':
      return { to: `/sources/${name}` }
    case 'subscriber':
      return { to: `/subscribers/${name}` }
    case 'key':
      return { to: '/system/keys' }
    case 'worker':
    case 'database':
    case 'spool':
      return { to: '/system/queues' }
  }
}
