import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { centreWithin } from '../../ui/scroll.ts'

const places = [
  ['/system', 'Overview'],
  ['/system/queues', 'Queues'],
  ['/system/retention', 'Retention and retries'],
  ['/system/jobs', 'Jobs'],
  ['/system/settings', 'Settings'],
  ['/system/doctor', 'Doctor'],
] as const

/** The pages of the area. Keys and the audit log have places of their own in the sidebar. */
export function SystemLinks() {
  const row = useRef<HTMLElement>(null)
  useEffect(() => centreWithin(row.current, '[aria-current=page]'), [])
  return (
    <nav
      ref={row}
      aria-label="System"
      className="relative mb-4 flex gap-1 overflow-x-auto border-b border-line"
    >
      {places.map(([to, label]) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: true, includeSearch: false }}
          activeProps={{ className: 'border-accent font-medium text-ink', 'aria-current': 'page' }}
          inactiveProps={{ className: 'border-transparent text-soft' }}
          className="-mb-px min-h-9 border-b-2 px-3 py-1.5 whitespace-nowrap hover:text-ink focus-visible:outline-offset-[-2px]"
        >
          {label}
        </Link>
      ))}
    </nav>
  )
}
