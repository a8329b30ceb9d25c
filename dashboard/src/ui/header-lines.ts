import { fill, words } from '../language/words.ts'
import { linesOf } from './lines.ts'

/** Headers as a person edits them: one for each line, as `Name: value`. */
export const writeHeaders = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')

/** @throws Error for a line that is no header, with a message for the person */
export const readHeaders = (text: string): Record<string, string> =>
  Object.fromEntries(linesOf(text).map(readHeader))

function readHeader(line: string): [string, string] {
  const at = line.indexOf(':')
  if (at < 1) throw new Error(fill(words.ui.wrongHeader, { line }))
  return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
}
