import { useNavigate } from '@tanstack/react-router'
import { BookOpen } from 'lucide-react'
import { addressOf } from '../api/client.ts'
import { guideOf } from './guides.ts'
import { isRange, ranges, useRange } from './time-range.ts'

/** The time range of the pages that have one. */
export function RangeSelect() {
  const range = useRange()
  const navigate = useNavigate()
  return (
    <select
      aria-label="Time range"
      value={range}
      onChange={({ target: { value } }) => {
        if (isRange(value))
          void navigate({ to: '.', search: (before: object) => ({ ...before, range: value }), replace: true })
      }}
      className="min-h-9 rounded-md border border-line bg-card px-2 text-sm hover:border-strong"
    >
      {Object.entries(ranges).map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  )
}

/** The page of the guide about a page of the dashboard; nothing where there is none. */
export function GuideLink({ path }: { path: string }) {
  const guide = guideOf(path)
  return (
    guide !== undefined && (
      <a
        href={addressOf(`/docs/guide/${guide}`)}
        className="inline-flex min-h-9 items-center gap-1.5 rounded-md px-2 text-sm text-soft hover:bg-sunken hover:text-ink"
      >
        <BookOpen size={16} aria-hidden /> Guide
      </a>
    )
  )
}
