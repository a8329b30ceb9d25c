const zone = new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' })
  .formatToParts(new Date())
  .find(({ type }) => type === 'timeZoneName')?.value

const { timeZone: place } = Intl.DateTimeFormat().resolvedOptions()

/** The name of the viewer's time zone. */
export const timeZone: string = zone === undefined || zone === place ? place : `${place} (${zone})`

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const dayAndClock = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })

/** A time as short as is clear: the hour today, with the date in this year, else the date. */
export function formatTime(value: string | number | Date): string {
  const time = new Date(value)
  const now = new Date()
  if (time.toDateString() === now.toDateString()) return clock.format(time)
  return time.getFullYear() === now.getFullYear() ? dayAndClock.format(time) : day.format(time)
}

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

/** A duration in the largest fitting unit: `420 µs`, `12 ms`, `3.4 s`, `5 min`, `2 h`, `3 d`. */
export function formatDuration(milliseconds: number): string {
  const size = Math.abs(milliseconds)
  if (size === 0) return '0 ms'
  if (size < 1) return `${Math.round(milliseconds * 1000)} µs`
  if (size < 1_000) return `${size < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`
  if (size < 90_000) return `${(milliseconds / 1_000).toFixed(size < 10_000 ? 1 : 0)} s`
  if (size < 5_400_000) return `${Math.round(milliseconds / 60_000)} min`
  if (size < 172_800_000) return `${Math.round(milliseconds / 3_600_000)} h`
  return `${Math.round(milliseconds / 86_400_000)} d`
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

const numbers = new Intl.NumberFormat()
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })

export const formatNumber = (value: number): string => numbers.format(value)
/** `1.2K`, `3.4M`. */
export const formatShort = (value: number): string =>
  Math.abs(value) < 10_000 ? numbers.format(value) : short.format(value)
export const formatPercent = (share: number): string =>
  `${(share * 100).toFixed(share > 0.99 && share < 1 ? 2 : share === 1 || share === 0 ? 0 : 1)} %`

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  const names = ['kB', 'MB', 'GB', 'TB']
  let [value, at] = [bytes / 1_000, 0]
  while (value >= 1_000 && at < names.length - 1) [value, at] = [value / 1_000, at + 1]
  return `${value.toFixed(value < 10 ? 1 : 0)} ${names[at]}`
}
