import { Problem } from '../errors.ts'
import { readTimeParameter } from '../paging/parameters.ts'
import { systemClock } from '../runtime/clock.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { UsageFailure } from './command-failure.ts'

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** What options that take a time say of it. */
export const timeForms = '30s, 10m, 2h, 1d or a time'

/** The time that `30s`, `10m`, `2h` or `1d` ago was, in ISO 8601; undefined for any other text. */
export function relativeTime(text: string): string | undefined {
  const [, count, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? []
  if (count === undefined || unit === undefined) return undefined
  return isoTime(systemClock.now() - Number(count) * units[unit]!)
}

/** Reads an option that takes a time. @returns milliseconds since 1970 @throws UsageFailure */
export function readTimeOption(text: string, option: string): number {
  try {
    return readTimeParameter(relativeTime(text) ?? text, option)
  } catch (error) {
    if (error instanceof Problem)
      throw new UsageFailure(`--${option} takes ${timeForms} such as 2026-01-31T08:30:00Z`)
    throw error
  }
}
