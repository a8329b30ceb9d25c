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
