import { execFile, type ChildProcess } from 'node:child_process'
import { promisify } from 'node:util'
import { childEnvironment } from '../harness/child-environment.ts'
import { mainFile } from '../harness/main-file.ts'

export interface Ended {
  code: number
  stdout: string
  stderr: string
}

/** Starts a command that can be sent a signal. */
export function startPostern(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { child: ChildProcess; ended: Promise<Ended> } {
  const options = { cwd: folder, env: { ...childEnvironment(), HOME: folder, ...env } }
  const running = promisify(execFile)(process.execPath, ['--', mainFile, ...args], options)
  const ended = running.then(
    (output) => ({ code: 0, ...output }),
    (error: Ended) => error,
  )
  return { child: running.child, ended }
}

/** Runs a command to its end, in a folder and with an environment of its own, as an operator does. */
export async function postern(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return startPostern(folder, args, env).ended
}
