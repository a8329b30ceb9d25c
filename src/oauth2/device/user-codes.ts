import { randomInt } from 'node:crypto'

/** No vowels, so that no words arise, and none of the letters and digits that look alike (RFC 8628, section 6.1). */
const letters = 'BCDFGHJKLMNPQRSTVWXZ'
const length = 8
const form = new RegExp(`^[${letters}]{${length}}$`)

/** A code that a person types: 8 of 20 letters, 34 bits. */
export function newUserCode(): string {
  return Array.from({ length }, () => letters[randomInt(letters.length)]).join('')
}

/** The letters of a code that a person typed, in any case and with any separators; `undefined` for other texts. */
export function readUserCode(typed: string): string | undefined {
  const code = typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
  return form.test(code) ? code : undefined
}

/** As it is shown: `WDJB-MJHT`. */
export function displayUserCode(code: string): string {
  return `${code.slice(0, length / 2)}-${code.slice(length / 2)}`
}
