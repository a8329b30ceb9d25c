// Installs packages and the pinned Node.js. Runs on any Node.js from 18 on, so: old syntax, no dependency.
import { createHash } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { say } from '../bin/launch.mjs'
import { die, missingNode, npm } from './node.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** What of package-lock.json is in node_modules, by the record that npm writes when it has finished. */
function compare(folder) {
  const packages = (file) => JSON.parse(readFileSync(join(folder, file), 'utf8')).packages
  let installed
  try {
    installed = packages('node_modules/.package-lock.json')
  } catch {
    return { production: false, everything: false, hadDevelopment: false }
  }
  // An optional one that is not there may be for another platform.
  const missing = Object.entries(packages('package-lock.json')).filter(([path, { version, optional }]) => {
    const found = installed[path]
    return path !== '' && (found ? found.version !== version : !optional)
  })
  return {
    production: missing.every(([path, { dev, devOptional }]) => !installed[path] && (dev || devOptional)),
    everything: missing.length === 0,
    hadDevelopment: Object.keys(installed).some((path) => installed[path].dev),
  }
}

/**
 * @param {string} folder the folder of a package-lock.json
 * @param {boolean} needsDev whether the development dependencies are needed. Where they are installed, they stay.
 * @returns {Promise<boolean>} whether the packages are installed
 */
export async function installPackages(folder, needsDev) {
  const state = () => {
    const { production, everything, hadDevelopment } = compare(folder)
    return { production, ready: needsDev ? everything : production, dev: needsDev || hadDevelopment }
  }
  if (state().ready) return true
  const unlock = await lock('install', 'another process is installing the dependencies, waiting for it')
  const { production, ready, dev } = state()
  if (!ready) {
    // Adding the development part to a production install must not pull the files from under a running server:
    // `npm ci` would empty node_modules first, `npm install --no-save` only adds, at the locked versions.
    const args = production ? ['install', '--no-save'] : ['ci']
    args.push(dev ? '--include=dev' : '--omit=dev')
    say(`installing dependencies (npm ${args.join(' ')} in ${relative(root, folder) || 'this folder'})`)
    const started = Date.now()
    const { signal, error } = await npm(args, folder)
    if (signal) die(signal)
    if (state().ready) say(`dependencies installed in ${((Date.now() - started) / 1000).toFixed(1)} s`)
    else if (error) say(`the dependencies could not be installed: npm could not be run: ${error.message}`)
    else
      say(
        "the dependencies could not be installed. See npm's message above: usually the network, a proxy, or a package.json that package-lock.json does not match.",
      )
  }
  unlock()
  return state().ready
}

/** Installs the pinned Node.js. Without it, a Node.js of the machine that is new enough serves as well. */
export async function installNode() {
  if (!missingNode()) return
  const unlock = await lock('install', 'another process is installing Node.js, waiting for it')
  if (missingNode()) {
    say(`installing Node.js ${missingNode()} (npm ci in scripts/node)`)
    const { signal } = await npm(['ci'], join(root, 'scripts', 'node'))
    if (signal) die(signal)
  }
  unlock()
}

/**
 * A lock between processes that change this checkout. It lies outside the checkout because `npm ci` empties node_modules.
 * @param {string} name what the lock is for
 * @param {string} waiting the line that is printed once if another process has it
 * @returns {Promise<() => void>} releases the lock. So does the end of this process.
 */
export async function lock(name, waiting) {
  const digest = createHash('sha256').update(root).digest('hex').slice(0, 16)
  const path = join(tmpdir(), `postern-${name}-${digest}.lock`)
  const own = `${path}-${process.pid}`
  for (let told = false; ; told = true) {
    writeFileSync(own, String(process.pid))
    try {
      // A link is never seen without its content, as a new file is.
      linkSync(own, path)
      const unlock = () => rmSync(path, { force: true })
      process.on('exit', unlock)
      return () => {
        process.off('exit', unlock)
        unlock()
      }
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    } finally {
      rmSync(own)
    }
    try {
      process.kill(Number(readFileSync(path, 'utf8')), 0)
    } catch (error) {
      if (error.code === 'ESRCH') rmSync(path, { force: true })
    }
    if (!told) say(waiting)
    await new Promise((done) => setTimeout(done, 200))
  }
}
