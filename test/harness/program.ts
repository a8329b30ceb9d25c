// A program as a process, of which a test reads what it prints.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { eventually } from '../receiving/harness.ts'
import { childEnvironment } from './child-environment.ts'
import { mainFile } from './main-file.ts'

export interface Program {
  output(): string
  /** Resolves when the output has the text, or matches. */
  shows(wanted: string | RegExp): Promise<void>
  kill(signal: NodeJS.Signals): void
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>
  /** Sends SIGTERM. @returns the exit code */
  stop(): Promise<number | null>
}

/** Starts a program, by default in a process group of its own, so that a signal also reaches what it started. */
export function startProgram(
  command: readonly [string, ...string[]],
  { detached = true, ...options }: { cwd: string; env: Record<string, string>; detached?: boolean },
): Program {
  const [program, ...args] = command
  const child: ChildProcess = spawn(program, args, { ...options, detached })
  let text = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const kill = (signal: NodeJS.Signals): void => {
    if (child.exitCode === null && child.signalCode === null)
      process.kill(detached ? -child.pid! : child.pid!, signal)
  }
  return {
    output: () => text,
    async shows(wanted) {
      await eventually(
        () => {
          if (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)) return true
          if (child.exitCode !== null) throw new Error(`${command.join(' ')} ended:\n${text}`)
          return false
        },
        `${command.join(' ')} shows ${String(wanted)}`,
      ).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${text}`)
      })
    },
    kill,
    ended,
    async stop() {
      kill('SIGTERM')
      return ended
    },
  }
}

/** A command of `postern` that goes on, in a folder and with an environment of its own. It passes signals on by itself. */
export const startCommand = (
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Program =>
  startProgram([process.execPath, mainFile, ...args], {
    cwd: folder,
    env: { ...childEnvironment(), HOME: folder, ...env },
    detached: false,
  })
