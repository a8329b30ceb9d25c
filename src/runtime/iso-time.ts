const day = 86_400_000
/** The last millisecond of the year 9999: later years have more digits. */
const last = 253_402_300_799_999

let cachedDay = Number.NaN
let date: number[] = []

/**
 * Formats milliseconds since 1970 exactly as Date's toISOString, at a quarter of the cost. Lists, log lines and responses contain
 * many times, most of them of a few days. One fromCharCode creates a flat string; a concatenated one is slow to write as JSON.
 * @throws RangeError if the argument is not a valid time.
 */
export function isoTime(milliseconds: number): string {
  if (!(milliseconds >= 0 && milliseconds <= last)) return new Date(milliseconds).toISOString()
  const days = Math.floor(milliseconds / day)
  if (days !== cachedDay) {
    date = Array.from(new Date(days * day).toISOString().slice(0, 10), (character) => character.charCodeAt(0))
    cachedDay = days
  }
  const ofDay = Math.trunc(milliseconds - days * day)
  const seconds = Math.trunc(ofDay / 1000)
  const hour = Math.trunc(seconds / 3600)
  const minute = Math.trunc(seconds / 60) % 60
  const second = seconds % 60
  const fraction = ofDay % 1000
  // oxfmt-ignore
  return String.fromCharCode(
    date[0]!, date[1]!, date[2]!, date[3]!, date[4]!, date[5]!, date[6]!, date[7]!, date[8]!, date[9]!, 84,
    tens(hour), ones(hour), 58, tens(minute), ones(minute), 58, tens(second), ones(second), 46,
    tens(Math.trunc(fraction / 10)), ones(Math.trunc(fraction / 10)), ones(fraction), 90,
  )
}

const tens = (number: number): number => 48 + Math.trunc(number / 10)
const ones = (number: number): number => 48 + (number % 10)

/** As `isoTime`; null for no time. */
export function isoTimeOrNull(milliseconds: number | null | undefined): string | null {
  return milliseconds === null || milliseconds === undefined ? null : isoTime(milliseconds)
}
