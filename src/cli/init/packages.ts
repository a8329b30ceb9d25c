import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { moduleExtension, packageFile } from '../../code-folder.ts'
import { version } from '../../runtime/version.ts'
import { CommandFailure } from '../command-failure.ts'

const root = dirname(packageFile)
const isCheckout = moduleExtension === '.ts'

/**
 * Gives a project the packages of this version. A checkout, or a project that was made from one, copies them to `vendor/`, because no
 * registry has them.
 * @returns what the project's package.json names as the version of postern
 * @throws CommandFailure if the packages cannot be built
 */
export function providePackages(project: string): string {
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
export async function nodeAdvice(agent = process.env['npm_config_user_agent']): Promise<string> {
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
