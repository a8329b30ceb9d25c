import type { Random } from './clock.ts'

/** Seconds before each attempt of a delivery or of a handler, unless a setting or a subscriber has another schedule. */
export const defaultRetrySchedule = '0,5,300,1800,7200,18000,36000,50400,72000,86400'

/** The longest wait that a Retry-After can cause: 24 hours. */
export const longestRetryAfter = 86_400_000
/** Waits vary by ±20 %, so that requests that failed together are not repeated together. */
const spread = 0.2

/**
 * Returns the milliseconds until the next attempt, or `undefined` if the schedule has no more attempts.
 * @param schedule milliseconds before each attempt, the first included
 * @param begun attempts since the beginning or the last replay
 * @param retryAfter milliseconds from Retry-After: the wait is at least that, up to `longestRetryAfter`
 */
export function nextDelay(
  schedule: readonly number[],
  begun: number,
  random: Random,
  retryAfter = 0,
): number | undefined {
  const planned = schedule[begun]
  if (planned === undefined) return undefined
  const jittered = Math.round(planned * (1 - spread + 2 * spread * random()))
  return Math.max(jittered, Math.min(Math.max(0, retryAfter), longestRetryAfter))
}

/** A wait that is too long for every caller, so that more digits mean nothing else. */
const mostSeconds = 1e10

/** Parses Retry-After (RFC 9110, section 10.2.3), seconds or a date. Returns milliseconds from `now`. */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\s*\d+\s*$/.test(header)) return Math.min(Number(header), mostSeconds) * 1000
  // Date.parse accepts many other forms; an HTTP date begins with the name of a day.
  const isDate = /^\s*[A-Z][a-z]{2,8},? /.test(header)
  // The form of C's asctime() has no zone, and means UTC (RFC 9110, section 5.6.7). Date.parse would take it for local time.
  const at = isDate ? Date.parse(/ \d{4}\s*$/.test(header) ? `${header} GMT` : header) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
