import { words } from '../language/words.ts'

const isSuccess = (status: number | null): boolean => status !== null && status >= 200 && status < 300

export const httpStatus = (status: number | null): string =>
  status === null ? words.attempt.noAnswer : `HTTP ${status}`

/** The response in one line: its status, or why there was no complete one. */
export function responseWord(status: number | null, error: string | null): string {
  // A canceled event and a destination other than HTTP have no status.
  if (status === null && error === null) return '–'
  return error === null || (status !== null && !isSuccess(status)) ? httpStatus(status) : error
}
