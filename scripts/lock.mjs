// A lock between processes that change the same checkout. Runs on any Node.js from 18 on, so: old syntax, no dependency.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { say } from '../bin/launch.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/**
 * The lock lies outside the checkout because `npm ci` empties node_modules.
 * @param {string} name what the lock is for
 * @param {string} waiting the line that is printed once if another process has it
 * @returns {Promise<() => void>} releases the lock
 */
export async function lock(name, waiting) {
  const path = join(
    tmpdir(),
    `postern-${name}-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`,
  )
  for (let told = false; ;) {
    try {
      mkdirSync(path)
      writeFileSync(join(path, 'pid'), String(process.pid))
      return () => rmSync(path, { recursive: true, force: true })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    try {
      const holder = Number(readFileSync(join(path, 'pid'), 'utf8'))
      if (holder && !isAlive(holder)) rmSync(path, { recursive: true, force: true })
    } catch {
      // The holder is between its two calls, or died there.
      const made = statSync(path, { throwIfNoEntry: false })
      if (made && Date.now() - made.mtimeMs > 10_000) rmSync(path, { recursive: true, force: true })
    }
    if (!told) say(waiting)
    told = true
    await new Promise((done) => setTimeout(done, 200))
  }
}
