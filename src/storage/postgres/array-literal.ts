/** What an array of a column's values holds. */
export type Element = string | number | Uint8Array | null | undefined

const special = /["\\]/
/** What JSON writes otherwise than by a backslash in front of it: control characters and, to be sure, all surrogates. */
const beyondJson = /[^ -\ud7ff\ue000-\uffff]/

/**
 * An array as PostgreSQL reads it (https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO), for statements that take
 * a batch as one array for each column. pg writes them too, at two or three times the cost: every element through
 * two replacements, numbers included. Of neighbours that are equal, as most of a batch's are, one is written.
 */
export function arrayLiteral(elements: readonly Element[]): string {
  let text = '{'
  let last: Element
  let written = 'NULL'
  for (let index = 0; index < elements.length; index += 1) {
    const element = elements[index]
    if (element !== last) {
      written = write(element)
      last = element
    }
    text += index === 0 ? written : `,${written}`
  }
  return `${text}}`
}

function write(element: Element): string {
  if (element === null || element === undefined) return 'NULL'
  if (typeof element === 'number') return String(element)
  if (typeof element !== 'string')
    return String.raw`"\\x${Buffer.from(element.buffer, element.byteOffset, element.byteLength).toString('hex')}"`
  if (!special.test(element)) return `"${element}"`
  // Elsewhere JSON writes quotes and backslashes just so, and twice as fast as two replacements do.
  if (!beyondJson.test(element)) return JSON.stringify(element)
  return `"${element.replaceAll('\\', String.raw`\\`).replaceAll('"', String.raw`\"`)}"`
}
