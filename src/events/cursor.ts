import { Problem } from '../errors.ts'

/**
 * Reads the `cursor` of `GET /events`: the number of the last event that the caller has. Absent means from the start.
 * Accepts any non-negative integer of any length (http/create-app.ts bounds the address). Numbers above Number.MAX_SAFE_INTEGER all mean
 * the end of the log.
 * @throws Problem `invalid-cursor` for everything else, the empty text included.
 */
export function readEventCursor(text: string | undefined): number {
  if (text === undefined) return 0
  if (!/^\d+$/.test(text)) {
    throw new Problem('invalid-cursor', {
      parameter: 'cursor',
      detail: 'A cursor of the event log is a whole number that is not negative.',
    })
  }
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}

/** Reads the number of an event from a path. @throws Problem `not-found` if the text is not a possible number */
export function readEventNumber(text: string): number {
  const number = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new Problem('not-found')
  return number
}
