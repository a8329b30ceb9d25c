// Loaded before the tests by `npm test -- --package`: the service that they start is the installed package's.
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const checkout = pathToFileURL(join(import.meta.dirname, '../../src/')).href
const entries = new Map(
  ['service', 'main'].map((name) => [
    `${checkout}${name}.ts`,
    pathToFileURL(join(process.env['POSTERN_PACKAGE']!, 'dist', `${name}.js`)).href,
  ]),
)

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    const url = entries.get(resolved.url)
    return url === undefined ? resolved : { url, format: 'module', shortCircuit: true }
  },
})
