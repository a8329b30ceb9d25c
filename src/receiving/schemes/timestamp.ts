import { refuse } from './results.ts'
import type { Rejected, Shown } from './scheme.ts'

/** Seconds by which a signed time may differ from ours, in either direction, by default. */
export const defaultTolerance = 300

/** The format of the time: decimal digits since 1970, or ISO 8601 with an offset. */
export type TimeUnit = 'seconds' | 'milliseconds' | 'iso'

const digits = /^\d{1,15}$/
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)$/

/**
 * Returns a signed time, in milliseconds since 1970, if it is within `tolerance` seconds of `now` (milliseconds). Future times
 * are refused as well, because such a request could be replayed for longer.
 */
export function checkTime(
  timestamp: string,
  now: number,
  tolerance: number,
  unit: TimeUnit = 'seconds',
): { signedAt: number } | Rejected {
  const signedAt = readTime(timestamp, unit)
  if (Number.isNaN(signedAt)) return refuse('the signed time is not a valid time')
  const behind = now - signedAt
  if (Math.abs(behind) <= tolerance * 1000) return { signedAt }
  const seconds = Math.round(Math.abs(behind) / 1000)
  return behind > 0
    ? refuse(`the signed time is ${seconds} s behind this server's clock`, 'timestamp-too-old')
    : refuse(`the signed time is ${seconds} s ahead of this server's clock`, 'timestamp-in-future')
}

/** Returns the verifying secret with its signed time, or the rejection of the time. */
export function shownAt(secret: string, time: { signedAt: number } | Rejected): Shown | Rejected {
  return 'rejected' in time ? time : { secret, signedAt: time.signedAt }
}

/** Returns milliseconds since 1970, or NaN if the text is not such a time. */
function readTime(text: string, unit: TimeUnit): number {
  if (unit === 'iso') return iso.test(text) ? Date.parse(text) : Number.NaN
  return digits.test(text) ? Number(text) * (unit === 'seconds' ? 1000 : 1) : Number.NaN
}
