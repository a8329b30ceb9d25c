import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../harness/free-port.ts'
import type { Link } from '../../harness/link.ts'
import { adminKey, webhookSecret } from './keys.ts'
import { signal } from '../cluster/server.ts'
import { now } from '../now.ts'
import type { Pause } from './runs.ts'

export interface ProcessParts {
  /** The checkout whose service is started. */
  project: string
  folder: string
  /** The folder of its log. */
  logs: string
  /** Its own path to the database. */
  link: Link
  runsFile: string
}

/** Milliseconds in which a process has to be ready, on a machine that does much else. */
const startLimit = 120_000

/** Postern in a process of its own, as its users run it: `serve`, in production mode, with a configuration module. */
export class PosternProcess {
  readonly link: Link
  readonly logFile: string
  readonly pauses: Pause[] = []
  baseUrl = ''
  /** Whether senders may ask it: not while it starts or stops. */
  open = false
  /** Whether its last answer to /readyz was 200. */
  ready = false
  /** Environment variables of this process alone, used from its next start on. They override the common ones. */
  settings: Readonly<Record<string, string>> = {}
  readonly #parts: ProcessParts
  #child: ChildProcess | undefined

  constructor(parts: ProcessParts, number: number) {
    this.#parts = parts
    this.link = parts.link
    this.logFile = join(parts.logs, `postern-${number}.log`)
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Starts it and waits until it is ready. */
  async start(): Promise<void> {
    const { project, folder, link, runsFile } = this.#parts
    const port = await freePort()
    this.baseUrl = `http://127.0.0.1:${port}`
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
    const log = openSync(this.logFile, 'a')
    const child = spawn(process.execPath, [join(project, 'scripts', 'run.mjs'), 'serve'], {
      cwd: folder,
      // Ctrl-C reaches this program alone, which ends the others in their order.
      detached: true,
      stdio: ['ignore', log, log],
      env: {
        ...(PATH && { PATH }),
        ...(HOME && { HOME }),
        ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
        NODE_ENV: 'production',
        PORT: String(port),
        BASE_URL: this.baseUrl,
        DATABASE_URL: link.url,
        POSTERN_CONFIG: join(import.meta.dirname, 'handler.config.ts'),
        POSTERN_SECRET: 'chaos-master-secret-of-32-bytes-or-more-9f27',
        WEBHOOK_SECRET: webhookSecret,
        ADMIN_API_KEY: adminKey,
        RATE_LIMIT: 'off',
        ALLOW_PRIVATE_NETWORK: 'true',
        LOG_LEVEL: 'warn',
        // Failed runs of the fault `sleeping` are repeated soon.
        HANDLER_RETRY_SCHEDULE: '0,1,1,1,1,1,5,30,60',
        CHAOS_RUNS: runsFile,
        ...this.settings,
      },
    })
    closeSync(log)
    this.#child = child
    const began = performance.now()
    while ((await this.readiness()) !== 200) {
      if (this.#child !== child) return
      if (!running(child) || performance.now() - began > startLimit)
        throw new Error(
          `Postern was not ready (exit code ${child.exitCode}, ${child.signalCode}):\n${this.logTail()}`,
        )
      await wait(50)
    }
    if (!(await this.#isOurs())) throw new Error(`another program answers at ${this.baseUrl}`)
    this.open = true
    this.ready = true
  }

  /** Whether the service at the address knows this campaign's key: another program may have taken the free port first. */
  async #isOurs(): Promise<boolean> {
    const response = await fetch(new URL('/event-types', this.baseUrl), {
      headers: { authorization: `Bearer ${adminKey}` },
      signal: AbortSignal.timeout(10_000),
    })
    await response.arrayBuffer()
    return response.status !== 401
  }

  /** The status of /readyz; 0 when nobody answers within two seconds. Notes whether it is ready. */
  async readiness(): Promise<number> {
    const asked = this.#child
    let status = 0
    try {
      const response = await fetch(new URL('/readyz', this.baseUrl), { signal: AbortSignal.timeout(2_000) })
      await response.arrayBuffer()
      status = response.status
    } catch {
      // Stopped, or killed, or too busy: nobody would send it anything.
    }
    // Not that of the process before.
    if (this.#child === asked) this.ready = this.open && status === 200
    return status
  }

  /** Events that lie in its spool; undefined when it has none that takes webhooks, or does not answer. */
  async spool(): Promise<number | undefined> {
    try {
      const response = await fetch(new URL('/readyz?for=webhooks', this.baseUrl), {
        signal: AbortSignal.timeout(5_000),
      })
      const { spool } = (await response.json()) as { spool?: { events?: number } }
      return response.status === 200 ? spool?.events : undefined
    } catch {
      return undefined
    }
  }

  /** The problem code in the answer to a call; undefined when the call succeeds. @throws Error without an answer in 10 s */
  async problem(): Promise<string | undefined> {
    const response = await fetch(new URL('/subscribers', this.baseUrl), {
      headers: { authorization: `Bearer ${adminKey}` },
      signal: AbortSignal.timeout(10_000),
    })
    const body = (await response.json()) as { code?: string }
    return body.code
  }

  async kill(): Promise<void> {
    this.open = false
    await this.#end('SIGKILL')
  }

  /** SIGTERM. Resolves with the milliseconds that it took to end. */
  async stop(): Promise<number> {
    const began = performance.now()
    await this.#end('SIGTERM')
    this.open = false
    return performance.now() - began
  }

  /** SIGSTOP; `resume` is SIGCONT. */
  pause(): void {
    this.pauses.push({ pid: this.pid, from: now(), to: Infinity })
    signal(this.pid, 'SIGSTOP')
  }

  resume(): void {
    const pause = this.pauses.at(-1)
    // What was due meanwhile runs right after it goes on.
    if (pause) pause.to = now() + 1_000
    signal(this.pid, 'SIGCONT')
  }

  killNow(): void {
    if (this.#child && running(this.#child)) this.#child.kill('SIGKILL')
  }

  logTail(): string {
    return readFileSync(this.logFile, 'utf8').slice(-4_000)
  }

  async #end(by: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (!child || !running(child)) return
    const gone = once(child, 'exit')
    child.kill(by)
    // It is to end within its limit of ten seconds, and the delay before it.
    const insist = setTimeout(() => child.kill('SIGKILL'), 60_000)
    await gone
    clearTimeout(insist)
  }
}

function running(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}
