// Every npm script starts here, under whatever Node the machine has (18 or newer, so: old syntax, no dependency).
// It brings node_modules in line with package-lock.json, then runs the target on the Node.js that scripts/node/ pins.
//   node scripts/run.mjs ARGS...                  src/main.ts ARGS
//   node scripts/run.mjs --script FILE ARGS...    FILE ARGS, with the development dependencies installed
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { say, stopWithParent } from '../bin/launch.mjs'
import { lock } from './lock.mjs'
import { die, installNode, lacksNode, npm, run } from './node.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const stampFile = join(modules, '.postern-install.json')
const compileCache = join(modules, '.cache', 'node')

// ── Dependencies ─────────────────────────────────────────────────────────────────────────────────────────────────────

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** 'none', 'production' or 'everything': what of package-lock.json is in node_modules. */
function installed() {
  const lockText = readFileSync(join(root, 'package-lock.json'))
  const digest = createHash('sha256').update(lockText).digest('hex')
  const stamp = readJson(stampFile)
  if (stamp && stamp.lock === digest) return stamp.dev ? 'everything' : 'production'

  // Without a stamp, npm's own record tells whether the user has run `npm ci` or `npm install` already.
  const record = readJson(join(modules, '.package-lock.json'))
  if (!record) return 'none'
  let dev = true
  for (const [path, wanted] of Object.entries(JSON.parse(lockText).packages)) {
    const found = record.packages[path]
    if (path === '' || (found && found.version === wanted.version)) continue
    if (found || !(wanted.dev || wanted.optional || wanted.devOptional)) return 'none'
    if (!wanted.optional) dev = false
  }
  try {
    writeFileSync(stampFile, JSON.stringify({ lock: digest, dev }))
  } catch {
    // A read-only image: the comparison above is repeated at the next start, nothing else is lost.
  }
  return dev ? 'everything' : 'production'
}

/**
 * Whether node_modules holds a full install, be it of another lock: after the lock has changed, a developer's stays one.
 * npm's record tells; our own stamp does when it has been lost.
 */
function hadDevelopmentPackages() {
  const record = readJson(join(modules, '.package-lock.json'))
  if (record) return Object.keys(record.packages).some((path) => record.packages[path].dev)
  const stamp = readJson(stampFile)
  return Boolean(stamp && stamp.dev)
}

const satisfies = (state, withDev) => state === 'everything' || (state === 'production' && !withDev)

async function install(needsDev) {
  if (satisfies(installed(), needsDev) && !lacksNode()) return
  const withDev = needsDev || hadDevelopmentPackages()
  const unlock = await lock('install', 'another process is installing the dependencies, waiting for it')
  process.on('exit', unlock)
  if (lacksNode()) await installNode()
  const state = installed()
  if (!satisfies(state, withDev)) {
    // Adding the development part to a production install must not pull the files from under a running server:
    // `npm ci` would empty node_modules first, `npm install --no-save` only adds, at the locked versions.
    const command = state === 'production' ? ['install', '--no-save'] : ['ci']
    const part = withDev ? '--include=dev' : '--omit=dev'
    say(`installing dependencies (npm ${command.concat(part).join(' ')})`)
    rmSync(stampFile, { force: true })
    const started = Date.now()
    const { code, signal, error } = await npm(command.concat(part), root)
    if (signal) die(signal)
    if (error || code !== 0 || !satisfies(installed(), withDev)) {
      say('the dependencies could not be installed.')
      if (error) say(`npm could not be run: ${error.message}`)
      else
        say(
          "See npm's message above: usually the network, a proxy, or a package.json that package-lock.json does not match.",
        )
      process.exit(code || 1)
    }
    say(`dependencies installed in ${((Date.now() - started) / 1000).toFixed(1)} s`)
  }
  process.off('exit', unlock)
  unlock()
}

// ── Start ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const isScript = process.argv[2] === '--script'
const target = isScript ? process.argv[3] : 'src/main.ts'
stopWithParent()
await install(isScript)
const servesPages = !isScript && (process.argv[2] === 'serve' || process.argv[2] === 'dev')
if (servesPages && existsSync(join(root, 'dashboard'))) {
  const { buildDashboard } = await import('./dashboard.mjs')
  if (!(await buildDashboard()))
    say('the dashboard could not be built, so /dashboard shows an error. Everything else works.')
}
await run(resolve(root, target), process.argv.slice(isScript ? 4 : 2), compileCache)
