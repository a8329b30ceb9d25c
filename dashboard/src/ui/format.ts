import { language, locale, numberLocale } from '../language/locale.ts'

const zone = new Intl.DateTimeFormat(locale, { timeZoneName: 'short' })
  .formatToParts(new Date())
  .find(({ type }) => type === 'timeZoneName')?.value

const { timeZone: place } = Intl.DateTimeFormat().resolvedOptions()

/** The name of the viewer's time zone. */
export const timeZone: string = zone === undefined || zone === place ? place : `${place} (${zone})`

const format = (options: Intl.DateTimeFormatOptions): ((time: Date) => string) => {
  const made = new Intl.DateTimeFormat(locale, options)
  return (time) => made.format(time)
}
const clock = format({ hour: 'numeric', minute: '2-digit', second: '2-digit' })
const dayAndClock = format({ day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' })
const yearAndClock = format({ dateStyle: 'medium', timeStyle: 'short' })

/** A whole time, for hover. */
export const formatExact = format({ dateStyle: 'full', timeStyle: 'long' })

/** A time as short as is clear: today's without the date, others without seconds, those of other years with the year. */
export function formatTime(value: string | number | Date, now = new Date()): string {
  const time = new Date(value)
  if (time.toDateString() === now.toDateString()) return clock(time)
  return time.getFullYear() === now.getFullYear() ? dayAndClock(time) : yearAndClock(time)
}

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
]

/** "3 minutes ago", "in 2 hours". */
export function formatAgo(value: string | number | Date, now = Date.now()): string {
  const distance = new Date(value).getTime() - now
  const [unit, size] = units.find(([, size]) => Math.abs(distance) >= size) ?? ['second', 1_000]
  return relative.format(Math.round(distance / size), unit)
}

/** An ISO time as the input for a local time writes it; empty for another text. */
export function localTime(value: string): string {
  const time = Date.parse(value)
  if (Number.isNaN(time)) return ''
  return new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

const number = (options?: Intl.NumberFormatOptions): ((value: number) => string) => {
  const made = new Intl.NumberFormat(numberLocale, options)
  return (value) => made.format(value)
}
const tenths = number({ minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false })
const whole = number({ maximumFractionDigits: 0, useGrouping: false })

/** One digit after the point while the number has one before it. */
const digits = (value: number): string => (Math.abs(value) < 9.95 ? tenths : whole)(value)

/** A duration in the largest fitting unit: `420 µs`, `12 ms`, `3.4 s`, `5 min`, `2 h`, `3 d`. */
export function formatDuration(milliseconds: number): string {
  const size = Math.abs(milliseconds)
  if (size === 0) return '0 ms'
  if (size < 0.9995) return `${Math.round(milliseconds * 1000)} µs`
  if (size < 999.5) return `${digits(milliseconds)} ms`
  if (size < 90_000) return `${digits(milliseconds / 1_000)} s`
  if (size < 5_400_000) return `${Math.round(milliseconds / 60_000)} min`
  if (size < 172_800_000) return `${Math.round(milliseconds / 3_600_000)} h`
  return `${Math.round(milliseconds / 86_400_000)} d`
}

const short = number({ notation: 'compact', maximumFractionDigits: 1 })

export const formatNumber = number()
/** `1.2K`, `3.4M`. */
export const formatShort = (value: number): string =>
  Math.abs(value) < 10_000 ? formatNumber(value) : short(value)

const percent = (digits: number) =>
  number({ style: 'percent', minimumFractionDigits: digits, maximumFractionDigits: digits })
const [percents, percentTenths, percentHundredths] = [percent(0), percent(1), percent(2)]

/** `33.3%`. Only nothing is `0%`, and only all is `100%`. */
export function formatPercent(share: number): string {
  if (share === 0 || share === 1) return percents(share)
  if (share > 0 && share < 0.0005) return `<${percentTenths(0.001)}`
  if (share > 0.999_95 && share < 1) return `>${percentHundredths(0.9999)}`
  return (share > 0.99 && share < 1 ? percentHundredths : percentTenths)(share)
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  const names = ['kB', 'MB', 'GB', 'TB']
  let [value, at] = [bytes / 1_000, 0]
  while (Math.round(value) >= 1_000 && at < names.length - 1) [value, at] = [value / 1_000, at + 1]
  return `${digits(value)} ${names[at]}`
}

/** A duration in words: `24 hours`, `7 days`. */
export const formatLong = (value: number, unit: 'hour' | 'day'): string =>
  number({ style: 'unit', unit, unitDisplay: 'long' })(value)

/** With a capital at its beginning, as a label. */
export const asLabel = (text: string): string => text.charAt(0).toLocaleUpperCase(language) + text.slice(1)
