import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { serviceEnvironment } from '../harness/service.ts'
import type { FromTarget, Measured } from './target-service.ts'

/** The process under test. */
export class Target {
  readonly #child: ChildProcess
  readonly #faults: string[] = []
  #output = ''
  #port = 0
  #stopping = false
  #measured: { resolve: (measured: Measured) => void; reject: (error: Error) => void } | undefined

  static async start(databaseUrl: string): Promise<Target> {
    const target = new Target(databaseUrl)
    while (target.#port === 0 && target.#faults.length === 0)
      await Promise.race([once(target.#child, 'message'), once(target.#child, 'exit')])
    if (target.#port === 0) throw new Error(`the service did not start: ${target.fault()}`)
    return target
  }

  private constructor(databaseUrl: string) {
    this.#child = fork(join(import.meta.dirname, 'target-service.ts'), {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: {
        ...process.env,
        ...serviceEnvironment(databaseUrl),
        WEBHOOK_BODY_LIMIT: '65536',
        LOG_LEVEL: 'error',
      },
    })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream
        ?.setEncoding('utf8')
        .on('data', (text: string) => (this.#output = (this.#output + text).slice(-10_000)))
    this.#child.on('exit', (code, signal) => {
      if (!this.#stopping) this.#faults.push(`the process ended (${signal ?? code})\n${this.#output}`)
      this.#measured?.reject(new Error(this.fault()))
    })
    this.#child.on('message', (message: FromTarget) => {
      if ('port' in message) this.#port = message.port
      else if ('fault' in message) this.#faults.push(message.fault)
      else this.#measured?.resolve(message.measured)
    })
  }

  get port(): number {
    return this.#port
  }

  /** What it logged as an error, and its end. */
  fault(): string | undefined {
    return this.#faults[0]
  }

  measure(): Promise<Measured> {
    return new Promise((resolve, reject) => {
      this.#measured = { resolve, reject }
      this.#child.send('measure')
    })
  }

  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.send('stop')
    await exited
  }
}
