#!/usr/bin/env node
// The `postern` command of the installed package. In a checkout, where `npx postern` finds it too, it runs the sources as
// `npm run postern` does: `dist` is only built for the package.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { runHere, stopWithParent } from './launch.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const ofCheckout = join(root, 'scripts', 'run.mjs')
if (existsSync(ofCheckout)) await import(pathToFileURL(ofCheckout).href)
else {
  stopWithParent()
  await runHere(join(root, 'dist', 'main.js'), process.argv.slice(2), join(root, '.cache', 'node'))
}
