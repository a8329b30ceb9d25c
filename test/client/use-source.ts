// Imports of `postern-client` lead to the sources of this checkout, as its package.json maps them to the compiled files.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const folder = join(import.meta.dirname, '../../packages/client')
const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { default: string }>
}

/** The source file of each import of the client library. */
export const clientSources: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(exports).flatMap(([name, target]) => {
    if (typeof target === 'string') return []
    const file = target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
    return [[`postern-client${name.slice(1)}`, join(folder, file)]]
  }),
)

registerHooks({
  resolve(specifier, context, next) {
    const file = clientSources[specifier]
    return file === undefined
      ? next(specifier, context)
      : { url: pathToFileURL(file).href, shortCircuit: true }
  },
})
