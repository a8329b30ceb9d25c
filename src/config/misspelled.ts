import { providerPrefixes } from './providers.ts'
import type { Environment } from './readers.ts'

/** Shorter names are too often those of other programs. */
const shortest = 7
/** Letters that may be added, left out or replaced; exchanged neighbours count as two. */
const mostEdits = 2

/**
 * Variables that have no effect, because their names differ from that of a setting by a letter or two, as sentences. Names of other
 * programs are in the same environment, so this is a warning and no fault.
 * @param names the settings
 */
export function misspelledSettings(env: Environment, names: ReadonlySet<string>): string[] {
  const given = Object.keys(env).filter((name) => env[name]?.trim())
  const prefixes = [...providerPrefixes(given)]
  return given.flatMap((variable) => {
    const name = variable.replace(/_FILE$/, '')
    const isKnown = names.has(name) || names.has(variable)
    if (isKnown || name.length < shortest || prefixes.some((prefix) => name.startsWith(`${prefix}_`)))
      return []
    const meant = [...names].find((one) => one.length >= shortest && isNear(name, one))
    return meant === undefined ? [] : [`${variable} is not a setting and has no effect: is ${meant} meant?`]
  })
}

/** Whether the edit distance (Levenshtein) of two names is at most `mostEdits`. */
function isNear(name: string, other: string): boolean {
  if (Math.abs(name.length - other.length) > mostEdits) return false
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let at = 0; at < name.length; at += 1) {
    const next = [at + 1]
    for (let index = 0; index < other.length; index += 1)
      next.push(
        Math.min(row[index]! + (name[at] === other[index] ? 0 : 1), row[index + 1]! + 1, next[index]! + 1),
      )
    row = next
  }
  return row.at(-1)! <= mostEdits
}
