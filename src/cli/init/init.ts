import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { CommandFailure, UsageFailure } from '../command-failure.ts'
import { isJson, print } from '../output.ts'
import { projectFiles } from './files.ts'
import { nodeAdvice, providePackages } from './packages.ts'

export interface InitOptions {
  yes?: boolean
  name?: string
  /** Without the sample. */
  empty?: boolean
}

/**
 * Writes a new project to `folder`; the default is the working directory. Asks for the folder and the name, unless they are given or
 * `yes` is set.
 * @throws CommandFailure if the folder has files already, or for a name that npm does not take
 */
export async function init(
  given: string | undefined,
  { yes = false, name: named, empty = false }: InitOptions,
): Promise<void> {
  const folder = given ?? (await ask('Folder', '.', yes))
  const target = resolve(folder)
  const name = named ?? (await ask('Name', nameOf(target), yes))
  if (!/^[a-z\d][a-z\d._-]{0,213}$/.test(name))
    throw new UsageFailure(`${name} is not a package name: use lowercase letters, digits and dashes`)
  const others = existsSync(target) ? readdirSync(target).filter((entry) => entry !== '.git') : []
  if (others.length > 0)
    throw new CommandFailure(`${target} is not empty (${others[0]}): name a new or an empty folder`)
  const files = projectFiles({ name, version: providePackages(target), empty })
  for (const [path, text] of Object.entries(files)) {
    const file = join(target, path)
    mkdirSync(dirname(file), { recursive: true })
    // Others on this machine must not read the secrets.
    writeFileSync(file, text, { mode: path === '.env' ? 0o600 : 0o644 })
  }
  const enter = target === process.cwd() ? '' : `  cd ${/\s/.test(folder) ? `'${folder}'` : folder}\n`
  print(
    { folder: target, files: Object.keys(files) },
    `${Object.keys(files).length} files written to ${target}\n\n${await nodeAdvice()}${enter}  npm install\n  npm run dev\n`,
  )
}

async function ask(question: string, usual: string, yes: boolean): Promise<string> {
  if (yes || !process.stdin.isTTY || isJson()) return usual
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return (await lines.question(`${question} (${usual}): `)).trim() || usual
  } finally {
    lines.close()
  }
}

function nameOf(folder: string): string {
  return (
    basename(folder)
      .toLowerCase()
      .replaceAll(/[^a-z\d._-]+/g, '-')
      .replace(/^[^a-z\d]+/, '') || 'product'
  )
}
