import { canonicalTime, InvalidTime } from '../paging/time.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { ValuePosition } from './value-position.ts'

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
  const canonical = readTime(text, stored.zone === '')
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

function readTime(text: string, zoneless: boolean): string | undefined {
  for (const candidate of zoneless ? [text, `${text}Z`] : [text]) {
    try {
      return canonicalTime(candidate)
    } catch (error) {
      if (!(error instanceof InvalidTime)) throw error
    }
  }
  return undefined
}

function write(canonical: string, { separator, digits, omitsZeros, zone }: TimeForm): string {
  const fraction = canonical.slice(20, 20 + digits)
  const shown = digits === 0 || (omitsZeros && /^0*$/.test(fraction)) ? '' : `.${fraction}`
  return `${canonical.slice(0, 10)}${separator}${canonical.slice(11, 19)}${shown}${zone}`
}
