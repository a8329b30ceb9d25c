// Imports of `postern` and `postern-client` lead to the sources of this checkout. With `npm test -- --package`, `postern` leads to the
// installed package.
import '../../client/use-source.ts'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const installed = process.env['POSTERN_PACKAGE']
const fileOf = (entry: string): string =>
  installed === undefined
    ? join(import.meta.dirname, '../../../src', `${entry}.ts`)
    : join(installed, 'dist', `${entry}.js`)
const files: Readonly<Record<string, string>> = {
  postern: fileOf('index'),
  'postern/testing': fileOf('testing/index'),
}

registerHooks({
  resolve(specifier, context, next) {
    const file = files[specifier]
    return file === undefined
      ? next(specifier, context)
      : { url: pathToFileURL(file).href, shortCircuit: true }
  },
})
