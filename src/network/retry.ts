import type { Random } from '../runtime/clock.ts'

/** The longest wait that a receiver's Retry-After is granted: 24 hours. */
export const longestRetryAfter = 86_400_000
/** How far a wait is spread: ±20 %, so that what failed together does not come back together. */
const spread = 0.2

/**
 * Milliseconds until the next attempt, or `undefined` when there is none left.
 * @param schedule milliseconds before each attempt, the first included
 * @param begun attempts since the beginning or the last replay
 * @param retryAfter milliseconds that the receiver asked for: the wait is at least that, up to `longestRetryAfter`
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

/** Reads Retry-After (RFC 9110, section 10.2.3), seconds or a date, as milliseconds from `now`. */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\s*\d{1,10}\s*$/.test(header)) return Number(header) * 1000
  // Date.parse takes much that is no HTTP date; those begin with the name of a day.
  const at = /^\s*[A-Z][a-z]{2,8},? /.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
