// The pages of dashboard/, in a checkout. Builds them when their sources have changed, or serves them while they are being written.
//   node scripts/dashboard.mjs build
//   node scripts/dashboard.mjs serve
// Also used by `npm start`, so: old syntax, no dependency.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { say } from '../bin/launch.mjs'
import { installPackages } from './install.mjs'
import { nodeBinary, waitFor } from './node.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** Has its own packages, and is built into `dist` there. */
const folder = join(root, 'dashboard')
/** What the built pages depend on, below the checkout. */
export const sources = [
  'dashboard/index.html',
  'dashboard/portal.html',
  'dashboard/vite.config.ts',
  'dashboard/package-lock.json',
  'dashboard/src',
  'packages/client/src',
]
const builds = [
  ['build', '--logLevel', 'warn'],
  ['build', '--mode', 'portal', '--logLevel', 'warn'],
]

function hashInto(hash, path) {
  if (statSync(path).isDirectory()) {
    // oxlint-disable-next-line unicorn/no-array-sort -- Node 18 has no toSorted.
    for (const name of readdirSync(path).sort()) hashInto(hash, join(path, name))
  } else hash.update(path.slice(root.length)).update('\0').update(readFileSync(path)).update('\0')
}

/** The digest of files and folders, by their paths below the checkout. */
export function digestOf(paths) {
  const hash = createHash('sha256')
  for (const path of paths) hashInto(hash, join(root, path))
  return hash.digest('hex')
}

/** The text of a stamp file; empty if it does not exist. */
export const kept = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '')

/** @returns whether the packages of the dashboard are installed */
export const installDashboard = () => installPackages(folder, true)

function vite(args, stdio) {
  const program = join(folder, 'node_modules/vite/bin/vite.js')
  return waitFor(spawn(nodeBinary(), [program, ...args], { cwd: folder, stdio }))
}

/**
 * Builds the dashboard, unless the files that were built come from the same sources.
 * @returns whether it is built
 */
export async function buildDashboard() {
  const stamp = join(folder, 'dist', '.sources')
  const digest = digestOf(sources)
  if (kept(stamp) === digest) return true
  if (!(await installDashboard())) return false
  say('building the dashboard')
  const started = Date.now()
  rmSync(stamp, { force: true })
  for (const args of builds) {
    const { code, error } = await vite(args, ['ignore', 2, 2])
    if (error || code !== 0) return false
  }
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, digest)
  say(`dashboard built in ${((Date.now() - started) / 1000).toFixed(1)} s`)
  return true
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === 'build') process.exitCode = (await buildDashboard()) ? 0 : 1
  else if (!(await installDashboard())) process.exitCode = 1
  else process.exitCode = (await vite([], 'inherit')).code || 0
}
