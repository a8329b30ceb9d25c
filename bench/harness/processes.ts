// Child processes of the benchmarks: none outlives this one, however it ends.
import { fork, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const root = join(import.meta.dirname, '..', '..')
const running = new Set<ChildProcess>()

function track<T extends ChildProcess>(child: T): T {
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

process.on('exit', killAll)

/** Ends every child at once, without a farewell: their databases are thrown away. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

export function startProcess(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  return track(spawn(command, args, options))
}

/** Waits until an address of a process answers with 2xx. @throws Error when the process has ended, or after two minutes, with the last failure */
export async function untilServing(child: ChildProcess, url: string): Promise<void> {
  const limit = performance.now() + 120_000
  let last: unknown
  while (performance.now() < limit) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with code ${child.exitCode}`)
    try {
      const { ok, status } = await fetch(url)
      if (ok) return
      last = new Error(`${url} answered ${status}`)
    } catch (error) {
      last = error
    }
    await wait(100)
  }
  throw new Error(`${url} is not served after two minutes`, { cause: last })
}

/** Asks a process to end, and insists after `limit` milliseconds. */
export async function stopProcess(child: ChildProcess, limit = 15_000): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  const insist = setTimeout(() => child.kill('SIGKILL'), limit)
  child.kill('SIGTERM')
  await ended
  clearTimeout(insist)
}

export interface Helper<Ready, Ask, Answer> extends AsyncDisposable {
  /** What the process said when it was ready. */
  readonly ready: Ready
  /** Asks one thing at a time. Rejects when the process reports an error or ends. */
  ask(question: Ask): Promise<Answer>
}

/** Starts a TypeScript file of bench/ in a process of its own; its side of this is child-process.ts. */
export async function startHelper<Ready, Ask = never, Answer = never>(
  file: string,
  parameters: unknown = {},
): Promise<Helper<Ready, Ask, Answer>> {
  const child = track(
    fork(join(root, 'bench', file), [JSON.stringify(parameters)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    }),
  )
  const next = async (): Promise<unknown> => {
    const failed = new AbortController()
    const ended = once(child, 'exit', { signal: failed.signal }).then(([code]) => {
      throw new Error(`${file} ended with code ${String(code)}`)
    })
    const message = once(child, 'message', { signal: failed.signal })
    try {
      const [{ value, error }] = (await Promise.race([message, ended])) as [
        { value?: unknown; error?: string },
      ]
      if (error !== undefined) throw new Error(`${file}: ${error}`)
      return value
    } finally {
      for (const lost of [message, ended]) lost.catch(() => undefined)
      failed.abort()
    }
  }
  const ready = (await next()) as Ready
  return {
    ready,
    ask(question) {
      child.send(question as object)
      return next() as Promise<Answer>
    },
    [Symbol.asyncDispose]: () => stopProcess(child, 2_000),
  }
}
