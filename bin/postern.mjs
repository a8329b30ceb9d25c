#!/usr/bin/env node
// The `postern` command of the installed package.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run, stopWithParent } from './launch.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
stopWithParent()
await run(join(root, 'dist', 'main.js'), process.argv.slice(2), join(root, '.cache', 'node'))
