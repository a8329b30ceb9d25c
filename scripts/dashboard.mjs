// The pages of dashboard/, in a checkout: builds them when their sources have changed, or serves them while they are being written.
//   npm run build:dashboard    builds, and installs what the build needs
//   npm run dashboard          serves them on port 5173, before the running service that POSTERN_URL names
// Also used by `npm start`, so: old syntax, no dependency.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { npmCommand, nodeBinary, say, waitFor } from '../bin/launch.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = join(root, 'dashboard')
/** What the built files are made of. */
const sources = [
  'dashboard/index.html',
  'dashboard/portal.html',
  'dashboard/vite.config.ts',
  'dashboard/package-lock.json',
  'dashboard/src',
  'packages/client/src',
]

function hashInto(hash, path) {
  if (statSync(path).isDirectory())
    // oxlint-disable-next-line unicorn/no-array-sort -- Node 18 has no toSorted.
    for (const name of readdirSync(path).sort()) hashInto(hash, join(path, name))
  else hash.update(path.slice(root.length)).update('\0').update(readFileSync(path)).update('\0')
}

function digestOf(paths) {
  const hash = createHash('sha256')
  for (const path of paths) hashInto(hash, join(root, path))
  return hash.digest('hex')
}

const kept = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '')

/** Installs the packages of the dashboard, unless those of its lock file are there. @returns whether they are there */
async function install() {
  const stamp = join(folder, 'node_modules', '.postern-install')
  const lock = digestOf(['dashboard/package-lock.json'])
  if (kept(stamp) === lock) return true
  say("installing the dashboard's packages (npm ci in dashboard)")
  const [command, first] = npmCommand()
  const args = first.concat(
    'ci',
    '--include=dev',
    '--include=optional',
    '--ignore-scripts',
    '--loglevel=error',
  )
  const shell = command === 'npm' && process.platform === 'win32'
  const { code, error } = await waitFor(spawn(command, args, { cwd: folder, stdio: ['ignore', 2, 2], shell }))
  if (error || code !== 0) return false
  writeFileSync(stamp, lock)
  return true
}

const vite = (args, stdio) =>
  waitFor(
    spawn(nodeBinary(), [join(folder, 'node_modules/vite/bin/vite.js'), ...args], { cwd: folder, stdio }),
  )

/** Builds the dashboard unless the files that were built come from the same sources. @returns whether it is built */
export async function buildDashboard() {
  const stamp = join(folder, 'dist', '.sources')
  const digest = digestOf(sources)
  if (kept(stamp) === digest) return true
  if (!(await install())) return false
  say('building the dashboard')
  const started = Date.now()
  rmSync(stamp, { force: true })
  for (const page of ['production', 'portal']) {
    const { code, error } = await vite(['build', '--mode', page, '--logLevel', 'warn'], ['ignore', 2, 2])
    if (error || code !== 0) return false
  }
  writeFileSync(stamp, digest)
  say(`dashboard built in ${((Date.now() - started) / 1000).toFixed(1)} s`)
  return true
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] !== 'serve') process.exitCode = (await buildDashboard()) ? 0 : 1
  else if (!(await install())) process.exitCode = 1
  else process.exitCode = (await vite([], 'inherit')).code || 0
}
