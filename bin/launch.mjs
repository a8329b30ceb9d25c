// Runs the compiled package on the Node.js of the machine. Old syntax and no dependency, so that an old Node.js can print
// which one is needed.
import module from 'node:module'
import { pathToFileURL } from 'node:url'

/**
 * The oldest releases that run the package: older ones bind numbered parameters of SQLite wrongly. `engines` in package.json
 * says the same, and `.ci/run` runs the package's tests on each.
 */
const OLDEST = { 22: 20, 24: 7 }

/** Whether a version of Node.js, such as `24.7.0`, runs the package. */
export function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > 24 || minor >= OLDEST[major]
}

/** For messages. */
export const neededNode = 'Node.js 22.20, 24.7 or newer'

/** @param {string} line */
export const say = (line) => process.stderr.write(`postern: ${line}\n`)

/**
 * npm runs a script through a shell, and passes SIGTERM to the shell alone: `kill` on `npm start`, or on `npx
 * postern`, would end the shell and leave the service running. So the death of the shell counts as SIGTERM.
 */
export function stopWithParent() {
  if (!process.env.npm_lifecycle_event || process.platform === 'win32') return
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 250)
  watch.unref()
}

/**
 * Runs the module `target` in this process.
 * @param {string} target an absolute path
 * @param {readonly string[]} args
 * @param {string} compileCache the folder of Node's compile cache, if NODE_COMPILE_CACHE names none
 */
export async function runHere(target, args, compileCache) {
  if (!isNewEnough(process.versions.node)) {
    say(`Postern needs ${neededNode}. This is ${process.version}.`)
    say('Install a newer Node.js from https://nodejs.org, and run the same command again.')
    process.exitCode = 1
    return
  }
  // Threads learn of it from the environment: without it each loads the compiler of TypeScript, 17 MB.
  const cache = (process.env.NODE_COMPILE_CACHE = process.env.NODE_COMPILE_CACHE || compileCache)
  module.enableCompileCache(cache)
  // The package's modules have source maps; Node.js reads the sources of a checkout as they are.
  if (target.endsWith('.js')) process.setSourceMapsEnabled(true)
  process.argv = [process.execPath, target, ...args]
  await import(pathToFileURL(target).href)
}
