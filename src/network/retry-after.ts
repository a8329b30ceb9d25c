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
