import { statSync } from 'node:fs'
import { readTextFile } from '../runtime/text-file.ts'
import { providerPrefixes } from './providers.ts'
import type { Environment } from './readers.ts'

/** The largest file of a setting, in bytes. */
const mostBytes = 64 * 1024
const ending = '_FILE'

export interface EnvironmentWithFiles {
  env: Environment
  /** The settings whose files could not be read. */
  unread: ReadonlySet<string>
}

/**
 * Adds the settings that files contain: `NAME_FILE` is the path of a file with the value of NAME, as container platforms mount
 * secrets. Removes one newline at the end of the file. Appends faults to `faults`.
 * @param names the settings; variables of identity providers are found by their prefix
 */
export function readSettingFiles(
  given: Environment,
  names: ReadonlySet<string>,
  faults: string[],
): EnvironmentWithFiles {
  const named = Object.keys(given)
    .filter((key) => key.endsWith(ending) && given[key]?.trim())
    .map((key) => key.slice(0, -ending.length))
  const unread = new Set<string>()
  if (named.length === 0) return { env: given, unread }
  const env = { ...given }
  const prefixes = [...providerPrefixes([...Object.keys(given), ...named])]
  for (const name of named) {
    if (!names.has(name) && !prefixes.some((prefix) => name.startsWith(`${prefix}_`))) continue
    const variable = name + ending
    const path = given[variable]!.trim()
    delete env[variable]
    const fault = given[name]?.trim()
      ? `${name} and ${variable} are both set: remove one of them`
      : faultOfFile(path, (text) => (env[name] = text))
    if (fault === undefined) continue
    unread.add(name)
    faults.push(fault.startsWith(name) ? fault : `${variable} names ${path}, ${fault}`)
  }
  return { env, unread }
}

/** Passes the text of the file to `take`. Returns why the file cannot be used, or `undefined`. */
function faultOfFile(path: string, take: (text: string) => void): string | undefined {
  try {
    const file = statSync(path)
    // Reading a pipe could block the start for ever.
    if (!file.isFile()) return 'which is not a file'
    if (file.size > mostBytes) return `which is larger than ${mostBytes / 1024} KiB`
    take(readTextFile(path).replace(/\r?\n$/, ''))
    return undefined
  } catch (error) {
    return `which cannot be read: ${(error as Error).message}`
  }
}
