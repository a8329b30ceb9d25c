import { isoTime } from '../runtime/iso-time.ts'
/** A text that canonicalTime does not accept. The message continues a sentence whose subject is the field or parameter. */
export class InvalidTime extends Error {
  override readonly name = 'InvalidTime'
}

/** The longest accepted text, in characters. Without trailing zeros, a time has at most 35. */
const maxLength = 64
const form =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/

/**
 * Reads an ISO 8601 time and returns the canonical text that tables store: UTC with six digits of fraction. Canonical texts sort
 * as the times do, and keep the microseconds that a Date would lose. Accepts `2026-01-31T09:30:00.000137+01:00`, any offset
 * (`Z`, `+05:30`, `+0530`, `-08`), a comma as the decimal point, a space instead of the T, times without seconds, and a date alone,
 * which is its midnight in UTC. Digits after the sixth must be zeros. The year in UTC must be 0001 to 9999.
 * @throws InvalidTime for any other text, such as impossible dates, leap seconds, 24:00, and times without an offset.
 */
export function canonicalTime(text: string): string {
  const parts = text.length > maxLength ? null : form.exec(text)
  if (!parts) throw new InvalidTime('is not a time of ISO 8601, such as 2026-01-31T09:30:00.000137+01:00')
  const [, year, month, day, hour, minute, second = '00', fraction = '', offset] = parts
  if (hour !== undefined && offset === undefined)
    throw new InvalidTime('has no offset: end it with Z or +01:00')
  if (!/^\d{0,6}0*$/.test(fraction)) throw new InvalidTime('is finer than a microsecond')
  checkRange(Number(hour ?? 0), Number(minute ?? 0), Number(second))
  const date = new Date(0)
  // Date.UTC would add 1900 to years below 100.
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) {
    throw new InvalidTime('names a day that does not exist')
  }
  date.setUTCHours(Number(hour ?? 0), Number(minute ?? 0) - offsetMinutes(offset), Number(second))
  if (year === '0000' || date.getUTCFullYear() < 1 || date.getUTCFullYear() > 9999) {
    throw new InvalidTime('lies outside the years 0001 to 9999')
  }
  return `${date.toISOString().slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`
}

/** The canonical text of a time; `undefined` for a text that canonicalTime does not accept. */
export function readCanonicalTime(text: string): string | undefined {
  try {
    return canonicalTime(text)
  } catch (error) {
    if (error instanceof InvalidTime) return undefined
    throw error
  }
}

/** The canonical text of a time in milliseconds since 1970. */
export function timeOf(milliseconds: number): string {
  return `${isoTime(milliseconds).slice(0, -1)}000Z`
}

/** A canonical time as clients get it: with milliseconds, as JavaScript's toISOString, or with microseconds if it has any. */
export function showTime(canonical: string): string {
  return canonical.endsWith('000Z') ? `${canonical.slice(0, -4)}Z` : canonical
}

/** An unescaped `+` in a query string is decoded to a space. This restores the sign of a time's offset. */
export function restorePlus(text: string): string {
  return text.replace(/(:\d\d(?:\.\d+)?) (\d\d(?::?\d\d)?)$/, '$1+$2')
}

function checkRange(hour: number, minute: number, second: number): void {
  if (second === 60) throw new InvalidTime('is a leap second, which no clock here has')
  if (hour > 23 || minute > 59 || second > 59)
    throw new InvalidTime('names an hour, minute or second that does not exist')
}

function offsetMinutes(offset: string | undefined): number {
  if (offset === undefined || offset === 'Z' || offset === 'z') return 0
  const digits = offset.slice(1).replace(':', '').padEnd(4, '0')
  const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2))]
  if (hours > 23 || minutes > 59) throw new InvalidTime('has an offset that does not exist')
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}
