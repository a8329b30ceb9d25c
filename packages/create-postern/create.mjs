#!/usr/bin/env node
// `npm create postern`: runs `postern init`, with the same arguments, of the version that this package depends on.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const folder = dirname(createRequire(import.meta.url).resolve('postern/package.json'))
process.argv.splice(2, 0, 'init')
await import(pathToFileURL(join(folder, 'bin/postern.mjs')).href)
