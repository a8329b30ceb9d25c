import { providerPrefixes } from './providers.ts'
import type { Environment } from './readers.ts'

/** Shorter names are too often those of other programs. */
const shortest = 7

/**
 * Variables that have no effect, because their names differ from that of a setting by a letter, as sentences. Names of other programs are in
 * the same environment, so this is a warning and no fault.
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

/** Whether two names differ by one letter that was added, left out or replaced, or by two neighbours that were exchanged. */
function isNear(name: string, other: string): boolean {
  let begin = 0
  while (begin < name.length && name[begin] === other[begin]) begin += 1
  let [end, otherEnd] = [name.length, other.length]
  while (end > begin && otherEnd > begin && name[end - 1] === other[otherEnd - 1]) {
    end -= 1
    otherEnd -= 1
  }
  const [left, right] = [name.slice(begin, end), other.slice(begin, otherEnd)]
  return Math.max(left.length, right.length) <= 1 || (left.length === 2 && left === right[1]! + right[0]!)
}
