import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess } from '../harness/processes.ts'

const folder = import.meta.dirname

interface Lock {
  packages: Record<string, { version?: string; optional?: boolean }>
}

function readLock(path: string): Lock {
  return JSON.parse(readFileSync(path, 'utf8')) as Lock
}

/** By npm's own record of what it has put there. */
function isInstalled(): boolean {
  const record = join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(record)) return false
  const found = readLock(record).packages
  return Object.entries(readLock(join(folder, 'package-lock.json')).packages).every(
    ([path, { version, optional }]) => path === '' || optional || found[path]?.version === version,
  )
}

/**
 * Brings the packages of the other products here, as the lock beside this file says, when they are not there yet; npm's
 * progress is shown. Resolves with what stood in the way, or with nothing.
 */
export async function installRivals(): Promise<string | undefined> {
  if (isInstalled()) return undefined
  console.error('installing what Postern is compared with (npm install in bench/rivals)')
  const { npm_execpath: cli, npm_node_execpath: node } = process.env
  const [command, first] = cli && /npm-cli\.c?js$/.test(cli) ? [node ?? process.execPath, [cli]] : ['npm', []]
  const began = performance.now()
  // `npm ci` refuses a lock that does not name the builds of an optional package for every system.
  const args = ['install', '--no-save', '--ignore-scripts', '--loglevel=error']
  const child = startProcess(command, [...first, ...args], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    shell: command === 'npm' && process.platform === 'win32',
  })
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0 || !isInstalled()) return `npm install in bench/rivals ended with ${String(code)}`
  } catch (error) {
    return `npm could not be run: ${String(error)}`
  }
  console.error(`installed in ${((performance.now() - began) / 1000).toFixed(1)} s`)
  return undefined
}
