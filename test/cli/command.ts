import { execFile, fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'
import { childEnvironment } from '../harness/child-environment.ts'
import { mainFile } from '../harness/main-file.ts'

export interface Command {
  folder: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
}

export interface Ended {
  code: number
  stdout: string
  stderr: string
}

const environment = (folder: string, env: Readonly<Record<string, string>>) => ({
  ...childEnvironment(),
  HOME: folder,
  ...env,
})

/** Starts a command in a process of its own, which can be sent a signal. */
export function startPostern(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { child: ChildProcess; ended: Promise<Ended> } {
  const options = { cwd: folder, env: environment(folder, env) }
  const running = promisify(execFile)(process.execPath, ['--', mainFile, ...args], options)
  const ended = running.then(
    (output) => ({ code: 0, ...output }),
    (error: Ended) => error,
  )
  return { child: running.child, ended }
}

let commandProcess: ChildProcess | undefined
after(async () => {
  if (!commandProcess?.connected) return
  commandProcess.ref()
  commandProcess.disconnect()
  await once(commandProcess, 'exit')
})
let last: Promise<unknown> = Promise.resolve()

/** A command of the package, and one that may go on until a signal, has a process of its own. */
const isApart = (args: readonly string[]) =>
  process.env['POSTERN_PACKAGE'] !== undefined || args.some((arg) => arg === 'serve' || arg === 'dev')

/** Runs a command to its end, in a folder and with an environment of its own, as an operator does. */
export async function postern(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  if (isApart(args)) return startPostern(folder, args, env).ended
  const ended = last.then(() => runInProcess({ folder, args, env: environment(folder, env) }))
  last = ended.catch(() => undefined)
  return ended
}

async function runInProcess(command: Command): Promise<Ended> {
  if (!commandProcess?.connected) {
    const file = join(import.meta.dirname, 'command-process.ts')
    commandProcess = fork(file, { env: childEnvironment(), stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  }
  const child = commandProcess
  child.ref()
  child.channel!.ref()
  try {
    return await new Promise<Ended>((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', (code) =>
        reject(new Error(`${command.args.join(' ')} ended its process with ${code}`)),
      )
      child.send(command)
    })
  } finally {
    child.removeAllListeners('message').removeAllListeners('exit')
    child.unref()
    child.channel?.unref()
  }
}
