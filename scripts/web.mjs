// What browsers get, in a checkout: the pages of dashboard/, and the site of docs/. Builds them when their sources have changed, or serves
// them while they are being written.
//   node scripts/web.mjs build dashboard|site
//   node scripts/web.mjs serve dashboard|site
// Also used by `npm start`, so: old syntax, no dependency.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeBinary, npmCommand, say, waitFor } from '../bin/launch.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Each has its own packages in its own folder, and is built into `dist` there. */
const projects = {
  dashboard: {
    sources: [
      'dashboard/index.html',
      'dashboard/portal.html',
      'dashboard/vite.config.ts',
      'dashboard/package-lock.json',
      'dashboard/src',
      'packages/client/src',
    ],
    tool: 'vite/bin/vite.js',
    build: [
      ['build', '--logLevel', 'warn'],
      ['build', '--mode', 'portal', '--logLevel', 'warn'],
    ],
    serve: [],
  },
  site: {
    sources: ['src/http/pages/assets/icon.svg', 'site/.vitepress', 'site/package-lock.json', 'docs'],
    tool: 'vitepress/bin/vitepress.js',
    build: [['build']],
    serve: ['dev'],
  },
}

function hashInto(hash, path) {
  if (statSync(path).isDirectory()) {
    // What a tool keeps for itself is no source.
    // oxlint-disable-next-line unicorn/no-array-sort -- Node 18 has no toSorted.
    for (const name of readdirSync(path).sort()) if (name !== '.cache') hashInto(hash, join(path, name))
  } else hash.update(path.slice(root.length)).update('\0').update(readFileSync(path)).update('\0')
}

function digestOf(paths) {
  const hash = createHash('sha256')
  for (const path of paths) hashInto(hash, join(root, path))
  return hash.digest('hex')
}

const kept = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '')

/** Installs the packages of a project, unless those of its lock file are there. @returns whether they are there */
export async function installWeb(name) {
  const stamp = join(root, name, 'node_modules', '.postern-install')
  const lock = digestOf([`${name}/package-lock.json`])
  if (kept(stamp) === lock) return true
  say(`installing the packages of the ${name} (npm ci in ${name})`)
  const [command, first] = npmCommand()
  const args = first.concat(
    'ci',
    '--include=dev',
    '--include=optional',
    '--ignore-scripts',
    '--loglevel=error',
  )
  const shell = command === 'npm' && process.platform === 'win32'
  const { code, error } = await waitFor(
    spawn(command, args, { cwd: join(root, name), stdio: ['ignore', 2, 2], shell }),
  )
  if (error || code !== 0) return false
  writeFileSync(stamp, lock)
  return true
}

function runTool(name, args, stdio) {
  const tool = join(root, name, 'node_modules', projects[name].tool)
  return waitFor(spawn(nodeBinary(), [tool, ...args], { cwd: join(root, name), stdio }))
}

/**
 * Builds `dashboard` or `site`, unless the files that were built come from the same sources.
 * @returns whether it is built
 */
export async function buildWeb(name) {
  const { sources, build } = projects[name]
  const stamp = join(root, name, 'dist', '.sources')
  const digest = digestOf(sources)
  if (kept(stamp) === digest) return true
  if (!(await installWeb(name))) return false
  say(`building the ${name}`)
  const started = Date.now()
  rmSync(stamp, { force: true })
  for (const args of build) {
    const { code, error } = await runTool(name, args, ['ignore', 2, 2])
    if (error || code !== 0) return false
  }
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, digest)
  say(`${name} built in ${((Date.now() - started) / 1000).toFixed(1)} s`)
  return true
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , action, name] = process.argv
  if (action === 'build') process.exitCode = (await buildWeb(name)) ? 0 : 1
  else if (!(await installWeb(name))) process.exitCode = 1
  else process.exitCode = (await runTool(name, projects[name].serve, 'inherit')).code || 0
}
