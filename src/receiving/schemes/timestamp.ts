/** Seconds that a signed time may differ from ours, in either direction, unless a source says otherwise. */
export const defaultTolerance = 300

/**
 * Whether a signed time, in seconds since 1970 as decimal digits, is within `tolerance` seconds of `now` (milliseconds).
 * Times ahead of ours are refused as well: they would be replayable for as long as they lie ahead.
 */
export function isCurrent(timestamp: string, now: number, tolerance: number): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(now / 1000 - Number(timestamp)) <= tolerance
}
