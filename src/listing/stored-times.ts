import { readCanonicalTime, showTime } from '../paging/time.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { ValuePosition } from './field-types.ts'

/** How a column writes times: `2026-01-31 08:30:00`, `2026-01-31T08:30:00.000Z`. */
export interface TimeForm {
  separator: ' ' | 'T'
  /** Digits of the fraction. */
  digits: 0 | 3 | 6
  /** Whether a fraction of zeros is left out, as Python does. */
  omitsZeros: boolean
  zone: '' | 'Z' | '+00:00'
}

const form = /^\d{4}-\d\d-\d\d([ T])\d\d:\d\d:\d\d(?:\.(\d{3}|\d{6}))?(Z|\+00:00)?$/

/**
 * The form that all of these values have, so that the texts sort as the times do; `undefined` if they differ. Fractions of
 * different lengths only sort correctly at the end of the text, without a zone after them.
 */
export function timeFormOf(values: readonly unknown[]): TimeForm | undefined {
  const parts = values.map((value) => (typeof value === 'string' ? form.exec(value) : null))
  const [first] = parts
  if (!first || parts.includes(null)) return undefined
  const separators = new Set(parts.map((part) => part![1]))
  const zones = new Set(parts.map((part) => part![3] ?? ''))
  const fractions = new Set(parts.map((part) => part![2]?.length ?? 0))
  const omitsZeros = fractions.size > 1 && fractions.has(0)
  if (separators.size > 1 || zones.size > 1 || fractions.size > (omitsZeros ? 2 : 1)) return undefined
  const [zone] = [...zones] as [TimeForm['zone']]
  if (omitsZeros && zone !== '') return undefined
  const digits = Math.max(...fractions) as TimeForm['digits']
  return { separator: first[1] as TimeForm['separator'], digits, omitsZeros, zone }
}

/** The form of SQLite's CURRENT_TIMESTAMP and datetime(). */
export const sqliteForm: TimeForm = { separator: ' ', digits: 0, omitsZeros: false, zone: '' }

/** The form in which PostgreSQL reads times of a column without a time zone. */
export const zonelessForm: TimeForm = { separator: ' ', digits: 6, omitsZeros: false, zone: '' }

/** Reads a time of a query string for a column of this form. Where the column has no zone, the text may have none: it is UTC. */
export function readTimeInForm(text: string, stored: TimeForm): ValuePosition {
  const canonical =
    readCanonicalTime(text) ?? (stored.zone === '' ? readCanonicalTime(`${text}Z`) : undefined)
  if (canonical === undefined) return undefined
  const { digits } = stored
  const rest = canonical.slice(20 + digits, 26)
  const at = write(canonical, stored)
  if (/^0*$/.test(rest)) return { at }
  const unit = digits === 0 ? 1_000 : 1
  const below = Date.parse(`${canonical.slice(0, 23)}Z`)
  const next = isoTime(Math.floor(below / unit) * unit + unit)
  // After the last second of the year 9999, isoTime writes a longer year.
  if (next.length > 24) return { beyond: 'above' }
  return { between: [at, write(`${next.slice(0, -1)}000Z`, stored)] }
}

function write(canonical: string, { separator, digits, omitsZeros, zone }: TimeForm): string {
  const fraction = canonical.slice(20, 20 + digits)
  const shown = digits === 0 || (omitsZeros && /^0*$/.test(fraction)) ? '' : `.${fraction}`
  return `${canonical.slice(0, 10)}${separator}${canonical.slice(11, 19)}${shown}${zone}`
}

const utc = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?\+00$/
const zoned = /[+-]\d\d(?::?\d\d)?$/
/** PostgreSQL writes more digits of a year after 9999, an era before year 1, and the seconds of local mean time in an offset. */
const ofPostgres =
  /^(\d{4,6})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(\.\d+)?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?( BC)?$/

/**
 * ISO 8601 in UTC, with microseconds if there are any. A time without a zone and `infinity` are shown as PostgreSQL writes them, and
 * years after 9999 and BC as it writes them in UTC.
 */
export function showTimestamp(stored: string): string {
  const parts = utc.exec(stored)
  if (parts) {
    const [, day, time, fraction = '.'] = parts
    return showTime(`${day}T${time}${fraction.padEnd(7, '0')}Z`)
  }
  const canonical = zoned.test(stored.slice(10)) ? readCanonicalTime(stored) : undefined
  if (canonical !== undefined) return showTime(canonical)
  return showRareTime(stored) ?? stored.replace(/^(\d{4,6}-\d\d-\d\d) (?=\d\d:)/, '$1T')
}

function showRareTime(stored: string): string | undefined {
  const parts = ofPostgres.exec(stored)
  if (!parts) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number)
  const [fraction = '', sign, hours, minutes = 0, seconds = 0, era] = parts.slice(7)
  const date = new Date(0)
  date.setUTCFullYear(era === undefined ? year : 1 - year, month - 1, day)
  if (date.getUTCDate() !== day) return undefined
  const offset = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  date.setUTCHours(hour, minute, second + (sign === '-' ? offset : -offset))
  // PostgreSQL's last years are beyond those of a Date.
  if (Number.isNaN(date.getTime())) return undefined
  const inUtc = date.getUTCFullYear()
  const rest = date.toISOString().slice(-20, -5)
  const shown = String(inUtc > 0 ? inUtc : 1 - inUtc).padStart(4, '0')
  return inUtc > 0 && inUtc < 10_000
    ? showTime(`${shown}${rest}${(fraction || '.').padEnd(7, '0')}Z`)
    : `${shown}${rest}${fraction}+00${inUtc > 0 ? '' : ' BC'}`
}
