import { Problem } from '../errors.ts'
import { canonicalTime, InvalidTime, restorePlus } from './time.ts'

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
