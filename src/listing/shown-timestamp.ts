import { isoTime } from '../runtime/iso-time.ts'
import { canonicalTime, InvalidTime, showTime } from '../paging/time.ts'

const utc = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?\+00$/

const zoned = /[+-]\d\d(?::?\d\d)?$/

/** An offset with seconds, which PostgreSQL writes for local mean time, before a zone had a standard time. */
const localMeanTime = /^(.+)([+-]\d\d:\d\d):(\d\d)$/

/** ISO 8601 in UTC, with microseconds if there are any. A time without a zone, `infinity` and years BC are shown as PostgreSQL writes them. */
export function showTimestamp(stored: string): string {
  const parts = utc.exec(stored)
  if (parts) {
    const [, day, time, fraction = '.'] = parts
    return showTime(`${day}T${time}${fraction.padEnd(7, '0')}Z`)
  }
  try {
    const local = localMeanTime.exec(stored)
    if (local) return showTime(fromLocalMeanTime(local))
    if (zoned.test(stored.slice(10))) return showTime(canonicalTime(stored))
  } catch (error) {
    if (!(error instanceof InvalidTime)) throw error
  }
  return stored.replace(/^(\d{4,6}-\d\d-\d\d) (?=\d\d:)/, '$1T')
}

/** The canonical text of a time whose offset has seconds. @throws InvalidTime outside the years 0001 to 9999. */
function fromLocalMeanTime([, time = '', offset = '', seconds = '']: RegExpExecArray): string {
  const canonical = canonicalTime(`${time}${offset}`)
  const sign = offset.startsWith('-') ? 1 : -1
  const moved = isoTime(Date.parse(`${canonical.slice(0, 19)}Z`) + sign * Number(seconds) * 1_000)
  return canonicalTime(`${moved.slice(0, 19)}${canonical.slice(19)}`)
}
