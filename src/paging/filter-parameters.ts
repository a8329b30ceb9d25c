import { Problem } from '../errors.ts'
import { canonicalTime, InvalidTime, restorePlus } from './time.ts'

/** Reads a parameter with a fixed set of values. @throws Problem `invalid-parameter` with the parameter's name */
export function readChoice<T extends string>(text: string, parameter: string, values: readonly T[]): T {
  const value = values.find((one) => one === text)
  if (value !== undefined) return value
  throw new Problem('invalid-parameter', {
    parameter,
    detail: `The parameter \`${parameter}\` must be one of ${values.join(', ')}.`,
  })
}

/**
 * Reads a text that is compared with a column. PostgreSQL cannot store NUL or lone surrogates, so no row could match such a text.
 * @param longest characters
 * @throws Problem `invalid-parameter` with the parameter's name
 */
export function readText(text: string, parameter: string, longest = 1_000): string {
  if (text.length <= longest && !text.includes('\0') && text.isWellFormed()) return text
  throw new Problem('invalid-parameter', {
    parameter,
    detail: `The parameter \`${parameter}\` must be a text of up to ${longest} characters.`,
  })
}

/**
 * Reads a time of a query string. Returns milliseconds since 1970; microseconds are rounded up.
 * @throws Problem `invalid-parameter` that names the parameter.
 */
export function readTimeParameter(text: string, parameter: string): number {
  try {
    return Math.ceil(Date.parse(canonicalTime(restorePlus(text))))
  } catch (error) {
    if (!(error instanceof InvalidTime)) throw error
    const detail = `The parameter \`${parameter}\` ${error.message}.`
    throw new Problem('invalid-parameter', { parameter, detail })
  }
}
