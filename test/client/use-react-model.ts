// The components of the client library get the model of the tests for `react`. Other files of the same process get React itself.
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'

const model = pathToFileURL(join(import.meta.dirname, 'react-model.ts')).href

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'react' && context.parentURL?.includes('/packages/client/src/react/')
      ? { url: model, shortCircuit: true }
      : next(specifier, context),
})
