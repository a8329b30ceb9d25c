import { formatTime } from './format.ts'

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })

/** A point in time; the exact one, with the time zone, on hover. */
export function Time({ value }: { value: string | number | null | undefined }) {
  if (value === null || value === undefined) return <span className="text-soft">never</span>
  const time = new Date(value)
  return (
    <time
      dateTime={time.toISOString()}
      title={`${exact.format(time)} · ${time.toISOString()}`}
      className="whitespace-nowrap"
    >
      {formatTime(time)}
    </time>
  )
}

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })
const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
]

/** "3 minutes ago", "in 2 hours"; the exact time on hover. */
export function Ago({ value }: { value: string | number | null | undefined }) {
  if (value === null || value === undefined) return <span className="text-soft">never</span>
  const time = new Date(value)
  const distance = time.getTime() - Date.now()
  const [unit, size] = units.find(([, size]) => Math.abs(distance) >= size) ?? ['second', 1_000]
  return (
    <time
      dateTime={time.toISOString()}
      title={`${exact.format(time)} · ${time.toISOString()}`}
      className="whitespace-nowrap"
    >
      {relative.format(Math.round(distance / size), unit)}
    </time>
  )
}
