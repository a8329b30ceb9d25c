import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { CommandFailure, UsageFailure } from '../command-failure.ts'
import { isJson, print } from '../output.ts'
import { projectFiles } from './files.ts'
import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { moduleExtension, packageFile } from '../../code-folder.ts'
import { version } from '../../runtime/version.ts'

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

const root = dirname(packageFile)
const isCheckout = moduleExtension === '.ts'

/**
 * Gives a project the packages of this version. A checkout, or a project that was made from one, copies them to `vendor/`, because no
 * registry has them.
 * @returns what the project's package.json names as the version of postern
 * @throws CommandFailure if the packages cannot be built
 */
function providePackages(project: string): string {
  if (isCheckout) {
    // Standard output belongs to the command.
    const { status } = spawnSync(
      process.execPath,
      [join(root, 'scripts/run.mjs'), '--script', 'scripts/vendor.mjs', project],
      { cwd: root, stdio: ['ignore', 2, 2] },
    )
    if (status !== 0) throw new CommandFailure('the packages could not be built: see the messages above')
    return vendored
  }
  const tarball = ownTarball()
  if (tarball === undefined) return `^${version}`
  mkdirSync(join(project, 'vendor'), { recursive: true })
  for (const name of ['postern.tgz', 'postern-client.tgz']) {
    const source = name === 'postern.tgz' ? tarball : join(dirname(tarball), name)
    if (existsSync(source)) copyFileSync(source, join(project, 'vendor', name))
  }
  return vendored
}

const vendored = 'file:vendor/postern.tgz'

/** The file that npm installed this package from; undefined if it came from a registry. */
function ownTarball(): string | undefined {
  const modules = dirname(root)
  const record = join(modules, '.package-lock.json')
  if (!existsSync(record)) return undefined
  const { packages } = JSON.parse(readFileSync(record, 'utf8')) as {
    packages: Record<string, { resolved?: string }>
  }
  const { resolved } = packages['node_modules/postern'] ?? {}
  return resolved?.startsWith('file:') ? resolve(dirname(modules), resolved.slice('file:'.length)) : undefined
}

/**
 * Commands for a machine whose own Node.js is too old for a project. A checkout runs on its own Node.js, which serves the project too.
 * @param agent the user agent of npm, which names the machine's version
 */
async function nodeAdvice(agent = process.env['npm_config_user_agent']): Promise<string> {
  const machine = / node\/v(\S+)/.exec(agent ?? '')?.[1]
  if (!isCheckout || machine === undefined) return ''
  const launcher = (await import(pathToFileURL(join(root, 'bin/launch.mjs')).href)) as {
    isNewEnough: (version: string) => boolean
    neededNode: string
  }
  if (launcher.isNewEnough(machine)) return ''
  const own = dirname(process.execPath)
  return `The project needs ${launcher.neededNode}; this machine has ${machine}. Install a newer one, or use the checkout's in each terminal:

  export PATH="${own}:$PATH"

`
}
