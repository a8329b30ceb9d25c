import { Problem } from '../errors.ts'

/** Reads the number of an event from a path. @throws Problem `not-found` if the text is not a possible number */
export function readEventNumber(text: string): number {
  const number = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new Problem('not-found')
  return number
}
