import { words } from '../language/words.ts'
import { formatAgo, formatExact, formatTime } from './format.ts'

type Value = string | number | null | undefined

/** A point in time: today's without the date. The exact one, with the time zone, on hover. */
export const Time = ({ value }: { value: Value }) => <Moment value={value} format={formatTime} />

/** "3 minutes ago", "in 2 hours"; the exact time on hover. */
export const Ago = ({ value }: { value: Value }) => <Moment value={value} format={formatAgo} />

function Moment({ value, format }: { value: Value; format: (time: Date) => string }) {
  if (value === null || value === undefined) return <span className="text-soft">{words.ui.never}</span>
  const time = new Date(value)
  return (
    <time
      dateTime={time.toISOString()}
      title={`${formatExact(time)} · ${time.toISOString()}`}
      className="whitespace-nowrap"
    >
      {format(time)}
    </time>
  )
}
