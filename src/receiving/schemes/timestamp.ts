import { refuse, type Rejected, type Shown } from './scheme.ts'

/** Seconds that a signed time may differ from ours, in either direction, unless a source says otherwise. */
export const defaultTolerance = 300

/** How a sender writes the time: since 1970 in decimal digits, or as ISO 8601 with its offset. */
export type TimeUnit = 'seconds' | 'milliseconds' | 'iso'

const digits = /^\d{1,15}$/
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)$/

/**
 * Reads a signed time, in milliseconds since 1970, if it is within `tolerance` seconds of `now` (milliseconds).
 * Times ahead of ours are refused as well: they would be replayable for as long as they lie ahead.
 */
export function checkTime(
  timestamp: string,
  now: number,
  tolerance: number,
  unit: TimeUnit = 'seconds',
): { signedAt: number } | Rejected {
  const signedAt = readTime(timestamp, unit)
  if (Number.isNaN(signedAt)) return refuse('the signed time is no time')
  const behind = now - signedAt
  if (Math.abs(behind) <= tolerance * 1000) return { signedAt }
  const seconds = Math.round(Math.abs(behind) / 1000)
  return behind > 0
    ? refuse(`the signed time is ${seconds} s behind ours`, 'timestamp-too-old')
    : refuse(`the signed time is ${seconds} s ahead of ours`, 'timestamp-in-future')
}

/** What is shown by a secret, if the time that was signed with it holds. */
export function shownAt(secret: string, time: { signedAt: number } | Rejected): Shown | Rejected {
  return 'rejected' in time ? time : { secret, signedAt: time.signedAt }
}

/** Milliseconds since 1970; NaN when the text is no such time. */
function readTime(text: string, unit: TimeUnit): number {
  if (unit === 'iso') return iso.test(text) ? Date.parse(text) : Number.NaN
  return digits.test(text) ? Number(text) * (unit === 'seconds' ? 1000 : 1) : Number.NaN
}
