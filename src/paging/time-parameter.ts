import { Problem } from '../errors.ts'
import { canonicalTime, InvalidTime } from './time.ts'

/**
 * A time of a query string, in milliseconds since 1970; microseconds are rounded up. An unencoded plus is a space in a
 * query string, so the sign of an offset comes back.
 * @throws Problem `invalid-parameter` that names the parameter.
 */
export function readTimeParameter(text: string, parameter: string): number {
  const signed = text.replace(/(:\d\d(?:\.\d+)?) (\d\d(?::?\d\d)?)$/, '$1+$2')
  try {
    return Math.ceil(Date.parse(canonicalTime(signed)))
  } catch (error) {
    if (!(error instanceof InvalidTime)) throw error
    const detail = `The parameter \`${parameter}\` ${error.message}.`
    throw new Problem('invalid-parameter', { parameter, detail })
  }
}
