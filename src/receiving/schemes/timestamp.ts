/** Seconds that a signed time may differ from ours, in either direction, unless a source says otherwise. */
export const defaultTolerance = 300

/** How a sender writes the time: since 1970 in decimal digits, or as ISO 8601 with its offset. */
export type TimeUnit = 'seconds' | 'milliseconds' | 'iso'

const digits = /^\d{1,15}$/
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)$/

/**
 * Whether a signed time is within `tolerance` seconds of `now` (milliseconds).
 * Times ahead of ours are refused as well: they would be replayable for as long as they lie ahead.
 */
export function isCurrent(
  timestamp: string,
  now: number,
  tolerance: number,
  unit: TimeUnit = 'seconds',
): boolean {
  return Math.abs(now - readTime(timestamp, unit)) <= tolerance * 1000
}

/** Milliseconds since 1970; NaN when the text is no such time. */
function readTime(text: string, unit: TimeUnit): number {
  if (unit === 'iso') return iso.test(text) ? Date.parse(text) : Number.NaN
  return digits.test(text) ? Number(text) * (unit === 'seconds' ? 1000 : 1) : Number.NaN
}
