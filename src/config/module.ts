import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { codeFolder, moduleExtension } from '../code-folder.ts'
import { ConfigurationError } from './environment.ts'

/**
 * Loads the configuration module: the file that POSTERN_CONFIG names, or postern.config.ts in the working directory.
 * Returns `undefined` if POSTERN_CONFIG is not set and that file does not exist. The module can be in any folder: its
 * imports of `postern` resolve to this installation, even if no package of that name is installed.
 * @throws ConfigurationError if the named file is missing, fails to load or has no default export.
 */
export async function loadConfigModule<T extends object>(
  named: string | undefined,
  folder = process.cwd(),
): Promise<T | undefined> {
  const file = moduleFile(named, folder)
  if (!existsSync(file)) {
    if (named === undefined) return undefined
    throw new ConfigurationError([`POSTERN_CONFIG names ${named}, which does not exist (${file})`])
  }
  answerForPostern()
  let module: { default?: unknown }
  try {
    module = (await import(pathToFileURL(file).href)) as { default?: unknown }
  } catch (error) {
    throw new ConfigurationError([
      readAsCommonJs(file, error) ?? `${file} could not be loaded: ${inWords(error)}`,
    ])
  }
  if (typeof module.default !== 'object' || module.default === null) {
    throw new ConfigurationError([
      `${file} has no default export: write \`export default defineConfig({ … })\``,
    ])
  }
  return module.default as T
}

/** `npm init` writes "type": "commonjs", for which Node.js has an error of its own that does not name that file. */
function readAsCommonJs(file: string, error: unknown): string | undefined {
  const isSyntax = error instanceof SyntaxError
  if (
    !isSyntax ||
    !/Cannot use (?:import statement outside a module|'import\.meta')|Unexpected token 'export'/.test(
      error.message,
    )
  )
    return undefined
  return `${file} uses import or export, and its package.json has "type": "commonjs": run \`npm pkg set type=module\` beside that file`
}

/** With the stack as far as it leads through files of the user. */
function inWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return (error.stack ?? error.message).replaceAll(/\n {4}at .*\(?node:internal\/.*/g, '')
}

function moduleFile(named: string | undefined, folder: string): string {
  return resolve(folder, named ?? 'postern.config.ts')
}

/** The folder of the product's own migrations: `migrations` beside the configuration module. It may not exist. */
export function migrationsFolder(named: string | undefined, folder = process.cwd()): string {
  return join(dirname(moduleFile(named, folder)), 'migrations')
}

/** What a configuration module may import from this installation: sources in a checkout, compiled files in the package. */
const entries = new Map(
  Object.entries({
    postern: 'index',
    'postern/testing': 'testing/index',
    'postern/opentelemetry': 'telemetry/opentelemetry',
  }).map(([name, file]) => [name, pathToFileURL(join(codeFolder, file + moduleExtension)).href]),
)
let answering = false

/**
 * Resolves `postern` to this installation, never to one in the module's own node_modules, because the running Postern uses
 * the objects that the module creates. The hook stays until the process ends, since a handler may import later.
 */
function answerForPostern(): void {
  if (answering) return
  answering = true
  registerHooks({
    resolve(specifier, context, next) {
      const url = entries.get(specifier)
      return url === undefined ? next(specifier, context) : { url, shortCircuit: true }
    },
  })
}
