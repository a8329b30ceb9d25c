/** A text that is no time as it is taken here; the message tells the reader of the text why. */
export class InvalidTime extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'InvalidTime'
  }
}

/** Longest text that is looked at; the longest sensible one has 35 characters. */
const longest = 64
const form =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/

/**
 * Reads a time of ISO 8601 and writes it as tables keep it: UTC with six digits of fraction, so that texts sort as times
 * do and no microsecond is lost, as it would be in a Date. Taken are `2026-01-31T09:30:00.000137+01:00`, any offset (`Z`,
 * `+05:30`, `+0530`, `-08`), a comma for the point, a space for the T, times without seconds, and a date alone, which is
 * its midnight in UTC. Digits behind the sixth must be zeros. Years are 0001 to 9999, in UTC too.
 * @throws InvalidTime for anything else: impossible dates, leap seconds, 24:00, a time without an offset.
 */
export function canonicalTime(text: string): string {
  const parts = text.length > longest ? null : form.exec(text)
  if (!parts) throw new InvalidTime('is not a time of ISO 8601, such as 2026-01-31T09:30:00.000137+01:00')
  const [, year, month, day, hour, minute, second = '00', fraction = '', offset] = parts
  if (hour !== undefined && offset === undefined)
    throw new InvalidTime('has no offset: end it with Z or +01:00')
  if (!/^\d{0,6}0*$/.test(fraction)) throw new InvalidTime('is finer than a microsecond')
  checkRange(Number(hour ?? 0), Number(minute ?? 0), Number(second))
  const date = new Date(0)
  // Unlike Date.UTC, this takes years below 100 as they are.
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

/** The canonical text of a clock's milliseconds since 1970. */
export function timeOf(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, -1)}000Z`
}

/** A canonical time as it is shown: to the millisecond, as JavaScript's toISOString writes it, unless it is finer. */
export function showTime(canonical: string): string {
  return canonical.endsWith('000Z') ? `${canonical.slice(0, -4)}Z` : canonical
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
