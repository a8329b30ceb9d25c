import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, closeSync, constants, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']

/** The path of a program of the machine. @throws Error when it is not there, with what it is needed for */
export function findProgram(name: string, neededBy: string): string {
  for (const folder of folders) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // It is in another folder, or nowhere.
      continue
    }
  }
  throw new Error(`${neededBy} needs ${name}, which this machine does not have`)
}

/** A program that runs on until it is ended, and can be started again. */
export class Program {
  readonly #path: string
  readonly #args: readonly string[]
  readonly #user: { uid: number; gid: number } | undefined
  readonly #logFile: string
  #child: ChildProcess | undefined

  constructor(
    path: string,
    args: readonly string[],
    logFile: string,
    user: { uid: number; gid: number } | undefined,
  ) {
    this.#path = path
    this.#args = args
    this.#user = user
    this.#logFile = logFile
  }

  start(): void {
    const log = openSync(this.#logFile, 'a')
    this.#child = spawn(this.#path, this.#args, {
      ...this.#user,
      cwd: '/',
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    })
    closeSync(log)
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  signal(name: NodeJS.Signals): void {
    if (this.running) this.#child!.kill(name)
  }

  async end(by: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.running) return
    const gone = once(this.#child!, 'exit')
    // A process that was stopped takes other signals only when it goes on.
    this.signal('SIGCONT')
    this.signal(by)
    await gone
  }

  /** The end of its log. */
  get log(): string {
    return readFileSync(this.#logFile, 'utf8').slice(-2_000)
  }
}
