import { Problem } from '../errors.ts'

/**
 * Reads the `cursor` of `GET /events`: the number of the last event that the caller has. Absent means from the start;
 * everything that is no number of the log, the empty text included, was not given out by us.
 * @throws Problem `invalid-cursor`
 */
export function readEventCursor(text: string | undefined): number {
  if (text === undefined) return 0
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number)) {
    throw new Problem('invalid-cursor', {
      parameter: 'cursor',
      detail: 'A cursor of the event log is a whole number that is not negative.',
    })
  }
  return number
}
