// Imports of `react` lead to the model of the tests.
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'

const model = pathToFileURL(join(import.meta.dirname, 'react-model.ts')).href

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'react' ? { url: model, shortCircuit: true } : next(specifier, context),
})
