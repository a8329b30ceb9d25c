// Every npm script starts here, under whatever Node the machine has (18 or newer, so: old syntax, no dependency).
// It brings node_modules in line with package-lock.json, then runs the target on the Node.js that scripts/node/ pins.
//   node scripts/run.mjs ARGS...                  src/main.ts ARGS
//   node scripts/run.mjs --script FILE ARGS...    FILE ARGS, with the development dependencies installed
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { say, stopWithParent } from '../bin/launch.mjs'
import { installNode, installPackages } from './install.mjs'
import { run } from './node.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const isScript = process.argv[2] === '--script'
stopWithParent()
await installNode()
if (!(await installPackages(root, isScript))) process.exit(1)
const servesPages = process.argv[2] === 'serve' || process.argv[2] === 'dev'
if (servesPages && existsSync(join(root, 'dashboard'))) {
  const { buildDashboard } = await import('./dashboard.mjs')
  if (!(await buildDashboard()))
    say('the dashboard could not be built, so /dashboard shows an error. Everything else works.')
}
const target = resolve(root, isScript ? process.argv[3] : 'src/main.ts')
await run(target, process.argv.slice(isScript ? 4 : 2), join(root, 'node_modules', '.cache', 'node'))
