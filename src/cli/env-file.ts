import { existsSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { readTextFile } from '../runtime/text-file.ts'
import { fileFault } from '../diagnostics/finding.ts'
import { CommandFailure } from './command-failure.ts'

/** The file that a variable was read from, by its name. */
const loaded = new Map<string, { origin: string; file: string }>()

/** Where the value of a variable of the environment comes from: the environment, or a file. */
export function originOfVariable(name: string): string {
  return loaded.get(name)?.origin ?? 'environment'
}

/** The file that a variable of the environment was read from; undefined if the environment had it. */
export function fileOfVariable(name: string): string | undefined {
  return loaded.get(name)?.file
}

/**
 * Adds the variables of a file to the environment. Variables that are set already keep their values.
 * @param named the file of `--env-file`; otherwise `.env` of the working directory, if there is one
 * @throws CommandFailure if the file cannot be read, or has a line that sets nothing: it may be the one that makes the service safe
 */
export function loadEnvFile(named?: string): void {
  const file = named ?? '.env'
  if (named === undefined && !existsSync(file)) return
  try {
    const text = readTextFile(file)
    checkLines(text)
    for (const [name, value = ''] of Object.entries(parseEnv(text))) {
      if (isCutShort(text, name, value))
        throw new Error(
          `the value of ${name} has a # that is not in quotes, which begins a comment. Write ${name}="…"`,
        )
      process.env[name] ??= value
      // Node.js itself may have read the file of the option before.
      if (process.env[name] === value)
        loaded.set(name, { origin: named === undefined ? '.env file' : '--env-file', file })
    }
  } catch (error) {
    const { message } = error as Error
    throw new CommandFailure(`${file} cannot be read: ${fileFault(error as Error) ?? message}`)
  }
}

/** @throws Error for a line that is no setting, comment or blank, and for a quoted value without an end. It shows no values. */
function checkLines(text: string): void {
  const lines = text.split(/\r?\n/)
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!.trim()
    if (line === '' || line.startsWith('#')) continue
    const [, name, rest = ''] = /^(?:export\s+)?([A-Za-z_][\w.-]*)\s*=(.*)$/.exec(line) ?? []
    if (name === undefined)
      throw new Error(`line ${at + 1} is not a setting. Write NAME=value, or # before a comment`)
    const value = rest.trim()
    const quote = value[0]
    if (quote === undefined || !'"\'`'.includes(quote) || value.indexOf(quote, 1) > 0) continue
    const end = lines.findIndex((later, index) => index > at && later.includes(quote))
    if (end < 0)
      throw new Error(`the value of ${name} in line ${at + 1} begins with ${quote}, which is not closed`)
    at = end
  }
}

/** Whether a comment begins within a value: `COLOR=#7a3cff`, or a password with `#`. Before a comment that is meant there is a space. */
function isCutShort(text: string, name: string, value: string): boolean {
  const literal = (part: string): string => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  const before = value === '' ? '' : `[ \\t]*${literal(value)}`
  return new RegExp(`^\\s*(?:export\\s+)?${literal(name)}\\s*=${before}#`, 'm').test(text)
}
