const day = 86_400_000
/** The last millisecond of the year 9999: later years have more digits. */
const last = 253_402_300_799_999

/**
 * Formats milliseconds since 1970 exactly as Date's toISOString, at a third of the cost. Lists, log lines and responses contain
 * many times. One fromCharCode creates a flat string; a concatenated one is slow to write as JSON.
 * @throws RangeError if the argument is not a valid time.
 */
export function isoTime(milliseconds: number): string {
  if (!(milliseconds >= 0 && milliseconds <= last)) return new Date(milliseconds).toISOString()
  const days = Math.floor(milliseconds / day)
  const date = dateOf(days)
  const century = Math.trunc(date / 1_000_000)
  const year = Math.trunc(date / 10_000) % 100
  const month = Math.trunc(date / 100) % 100
  const dayOfMonth = date % 100
  const ofDay = Math.trunc(milliseconds - days * day)
  const seconds = Math.trunc(ofDay / 1000)
  const hour = Math.trunc(seconds / 3600)
  const minute = Math.trunc(seconds / 60) % 60
  const second = seconds % 60
  const fraction = ofDay % 1000
  // oxfmt-ignore
  return String.fromCharCode(
    tens(century), ones(century), tens(year), ones(year), 45, tens(month), ones(month), 45, tens(dayOfMonth), ones(dayOfMonth), 84,
    tens(hour), ones(hour), 58, tens(minute), ones(minute), 58, tens(second), ones(second), 46,
    tens(Math.trunc(fraction / 10)), ones(Math.trunc(fraction / 10)), ones(fraction), 90,
  )
}

const tens = (number: number): number => 48 + Math.trunc(number / 10)
const ones = (number: number): number => 48 + (number % 10)

/** Days in 400 years, and from the first of March of the year 0 to 1970. */
const daysOfEra = 146_097
const daysTo1970 = 719_468

/**
 * Returns the date of a day since 1970 as the number yyyymmdd. Years are counted from March, so that a leap day is the last day of its
 * year (`civil_from_days` in https://howardhinnant.github.io/date_algorithms.html). A cache of the latest day was twice as fast for
 * times of one day, and twice as slow as Date when two days alternate, as in rows with two times.
 */
function dateOf(days: number): number {
  const shifted = days + daysTo1970
  const era = Math.trunc(shifted / daysOfEra)
  const ofEra = shifted - era * daysOfEra
  const leapDays = Math.trunc(ofEra / 1_460) - Math.trunc(ofEra / 36_524) + Math.trunc(ofEra / 146_096)
  const yearOfEra = Math.trunc((ofEra - leapDays) / 365)
  const ofYear = ofEra - (365 * yearOfEra + Math.trunc(yearOfEra / 4) - Math.trunc(yearOfEra / 100))
  const fromMarch = Math.trunc((5 * ofYear + 2) / 153)
  const dayOfMonth = ofYear - Math.trunc((153 * fromMarch + 2) / 5) + 1
  const isNextYear = fromMarch >= 10
  const month = isNextYear ? fromMarch - 9 : fromMarch + 3
  const year = era * 400 + yearOfEra + (isNextYear ? 1 : 0)
  return year * 10_000 + month * 100 + dayOfMonth
}

/** As `isoTime`; null for no time. */
export function isoTimeOrNull(milliseconds: number | null | undefined): string | null {
  return milliseconds === null || milliseconds === undefined ? null : isoTime(milliseconds)
}
