import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const root = join(import.meta.dirname, '..', '..')
const cache = join(root, 'node_modules', '.cache')

/** The names of the bundles, by what the service imports. */
const libraries: Readonly<Record<string, string>> = {
  kysely: 'kysely',
  typebox: 'typebox',
  'typebox/compile': 'typebox-compile',
  'typebox/schema': 'typebox-schema',
}

/**
 * Bundles Kysely and TypeBox for the tests and the programs that they run, as `npm run build` does for the package: to read their
 * hundreds of small modules takes half the processor time of a command with a database, and the tests run hundreds of commands.
 * @returns the address of a module that makes Node.js load the bundles. They are made once for each lock file.
 */
export async function bundleLibraries(): Promise<string> {
  const made = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(redirecting)
  const folder = join(cache, `test-libraries-${made.digest('hex').slice(0, 16)}`)
  if (!existsSync(folder)) await makeBundles(folder)
  return pathToFileURL(join(folder, 'use.mjs')).href
}

async function makeBundles(folder: string): Promise<void> {
  const fresh = `${folder}-${process.pid}`
  const input = Object.fromEntries(Object.entries(libraries).map(([specifier, name]) => [name, specifier]))
  const build = await rolldown({ input, platform: 'node', cwd: root })
  await build.write({ dir: fresh, format: 'esm' })
  writeFileSync(join(fresh, 'use.mjs'), redirecting)
  try {
    renameSync(fresh, folder)
  } catch (error) {
    // Another run may have been faster.
    if (!existsSync(folder)) throw error
    rmSync(fresh, { recursive: true })
  }
}

/**
 * A module that replaces the libraries of the checkout in which it is, and no others, by their bundles beside it, and resolves the
 * checkout's own modules without reading the disk, which takes a seventh of the processor time of a start.
 */
const redirecting = `import { registerHooks } from 'node:module'
const root = new URL('../../../', import.meta.url).href
const bundles = new Map()
for (const [specifier, name] of Object.entries(${JSON.stringify(libraries)}))
  bundles.set(import.meta.resolve(specifier), import.meta.resolve(\`./\${name}.js\`))
registerHooks({
  resolve(specifier, context, next) {
    if (/^\\.\\.?\\/.*\\.ts$/.test(specifier) && context.parentURL?.startsWith(root)) {
      const { href } = new URL(specifier, context.parentURL)
      if (href.startsWith(root + 'src/') || href.startsWith(root + 'test/'))
        return { url: href, format: 'module-typescript', shortCircuit: true }
    }
    const resolved = next(specifier, context)
    const url = bundles.get(resolved.url)
    return url === undefined ? resolved : { url, format: 'module', shortCircuit: true }
  },
})
`
