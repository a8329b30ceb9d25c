import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { relative, sep } from 'node:path'
import { isJson, tell } from './output.ts'

/** Milliseconds without a further change before the restart: an editor writes a file in several steps. */
const settled = 50
/** Files that the configuration may consist of. */
const watched = /\.(?:[cm]?[jt]s|json|sql)$|^\.env/
const ignored = new Set(['node_modules', 'data', '.git', 'dist'])

/**
 * Runs `postern serve` in the working directory, and runs it again when a file of the project changes. The data stays. Ends with
 * SIGINT or SIGTERM.
 * @param envFile the file of `--env-file`, if given
 * @param forward the address for handlers in another language, if given
 */
export async function dev(envFile?: string, forward?: string): Promise<void> {
  const options = [...(envFile === undefined ? [] : ['--env-file', envFile]), ...(isJson() ? ['--json'] : [])]
  const serve = ['serve', ...(forward === undefined ? [] : ['--forward', forward])]
  const start = (): ChildProcess =>
    spawn(process.execPath, [...process.execArgv, '--', process.argv[1]!, ...options, ...serve], {
      stdio: 'inherit',
    })
  let child = start()
  let ending = false
  let restarting = false
  let changed = ''
  const restart = async (): Promise<void> => {
    if (restarting) return
    restarting = true
    while (changed !== '' && !ending) {
      tell(`postern: ${changed} has changed, restarting`)
      changed = ''
      await stop(child, 'SIGTERM')
      if (!ending) child = start()
    }
    restarting = false
  }
  let timer: NodeJS.Timeout | undefined
  const watcher = watch('.', { recursive: true }, (_event, file) => {
    if (file === null || !isWatched(file)) return
    changed = file
    clearTimeout(timer)
    timer = setTimeout(() => void restart(), settled)
  })
  await new Promise<void>((ended) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => {
        ending = true
        clearTimeout(timer)
        watcher.close()
        void stop(child, signal).then(ended)
      })
  })
}

function isWatched(file: string): boolean {
  const parts = relative('.', file).split(sep)
  return !parts.some((part) => ignored.has(part)) && watched.test(parts.at(-1)!)
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}
