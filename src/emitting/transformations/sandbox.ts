import { Worker } from 'node:worker_threads'
import type { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import type { Log } from '../../telemetry/log.ts'

/** One run of a transformation. */
export interface Job {
  /** Identifies the owner. Memory is cleared between runs with different keys. */
  key: string
  code: string
  /** The argument of the handler, without the payload, as JSON. */
  webhook: string
  /** The payload as JSON; its timestamp sets the clock of the code. Undefined: only check that the code defines a handler. */
  body?: string | undefined
  /** Seeds random numbers. */
  eventId: string
}

/** The result of a run. Not trusted. */
export interface Ran {
  /** Method, URL, headers and `cancel`, as JSON. */
  meta?: string
  /** JSON; undefined if it is unchanged. */
  payload?: string | undefined
  /** `notRun`: why the code did not run. */
  error?: { message: string; line?: number; notRun?: 'overloaded' | 'broken' }
  /** Processor time. */
  durationMs: number
}

interface Turn {
  key: string
  rest: number
}

interface Waiting {
  job: Job
  resolve: (ran: Ran) => void
}

/** Maximum number of threads. While one owner's code runs, another thread is free for other owners. */
const mostThreads = 2
/** Jobs of one key that a thread runs in a row, because memory is cleared before another key. A slow job ends the turn. */
const jobsPerTurn = 8
/** Milliseconds of processor time after which a job is slow. */
const slow = 5
/** Maximum number of waiting jobs, for all owners together. */
const mostWaiting = 2_000
/** Milliseconds of processor time since the first check after which a thread is stuck. The thread itself stops earlier. */
const stuckAfter = 150
/** Milliseconds between two checks of a busy thread, and the number of checks after which it is stuck in any case. */
const lookEvery = 100
const mostLooks = 100

const failed = (message: string): Ran => ({ error: { message }, durationMs: 0 })
const overloaded = (message: string): Ran => ({ error: { message, notRun: 'overloaded' }, durationMs: 0 })

/**
 * Runs transformations in threads, which start when they are first needed. Keys take turns, and only one job of a key runs at a time, so
 * slow code delays only its owner. A stuck thread is terminated and replaced.
 */
export class Sandbox {
  readonly #waiting = new Map<string, Waiting[]>()
  #count = 0
  readonly #running = new Map<Thread, Waiting>()
  readonly #idle: Thread[] = []
  #isClosed = false
  readonly #log: Pick<Log, 'error'>

  constructor(log: Pick<Log, 'error'>) {
    this.#log = log
  }

  /** Rejects with the reason of `cut`. Whatever the code does is a result. */
  run(job: Job, cut?: AbortBroadcast): Promise<Ran> {
    if (this.#isClosed) return Promise.resolve(overloaded('the service is stopping'))
    if (this.#count >= mostWaiting) return Promise.resolve(overloaded('too many transformations are waiting'))
    return new Promise((resolve, reject) => {
      const unlisten = cut?.onAbort(reject)
      const waiting = { job, resolve: (ran: Ran) => (unlisten?.(), resolve(ran)) }
      const jobs = this.#waiting.get(job.key)
      if (jobs) jobs.push(waiting)
      else this.#waiting.set(job.key, [waiting])
      this.#count += 1
      this.#next()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const threads = [...this.#idle.splice(0), ...this.#running.keys()]
    for (const { resolve } of [...this.#waiting.values()].flat())
      resolve(overloaded('the service is stopping'))
    this.#waiting.clear()
    await Promise.all(threads.map((thread) => thread.end()))
  }

  #next(): void {
    while (this.#idle.length > 0 || this.#running.size < mostThreads) {
      const thread = this.#idle.at(-1)
      const waiting = this.#take(thread?.turn)
      if (!waiting) return
      this.#start(this.#idle.pop() ?? new Thread(this.#log), waiting)
    }
  }

  #start(thread: Thread, waiting: Waiting): void {
    const { key } = waiting.job
    if (thread.turn?.key === key) thread.turn.rest -= 1
    else thread.turn = { key, rest: jobsPerTurn }
    this.#running.set(thread, waiting)
    void thread.run(waiting.job).then((ran) => {
      this.#running.delete(thread)
      if (thread.isAlive && !this.#isClosed) this.#idle.push(thread)
      if (ran.durationMs > slow) thread.turn!.rest = 0
      waiting.resolve(ran)
      this.#next()
    })
  }

  /** The next job of the key whose turn it is, or else of the first key without a running job, which then waits behind the others. */
  #take(turn: Turn | undefined): Waiting | undefined {
    const busy = new Set([...this.#running.values()].map(({ job }) => job.key))
    const mine = turn && turn.rest > 0 && !busy.has(turn.key) ? this.#waiting.get(turn.key) : undefined
    for (const [key, jobs] of mine ? [[turn!.key, mine] as const] : this.#waiting) {
      if (busy.has(key)) continue
      const waiting = jobs.shift()
      this.#waiting.delete(key)
      if (jobs.length > 0) this.#waiting.set(key, jobs)
      this.#count -= 1
      return waiting
    }
    return undefined
  }
}

class Thread {
  readonly #worker = new Worker(new URL('transformation-worker.ts', import.meta.url), {
    name: 'transformations',
    // The thread needs neither, and code that escapes could read them. `--import` would load telemetry into each thread.
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 6 },
  })
  readonly #ready: Promise<void>
  #answer: ((ran: Ran) => void) | undefined
  isAlive = true
  turn: Turn | undefined

  constructor(log: Pick<Log, 'error'>) {
    this.#worker.unref()
    this.#ready = new Promise((resolve) => {
      this.#worker.on('message', (message: Ran | object) => {
        // With --watch, Node.js itself posts the modules that a thread imports.
        if ('isReady' in message) resolve()
        else if ('durationMs' in message) this.#answer?.(message)
      })
      const died = (): void => {
        this.isAlive = false
        resolve()
        this.#answer?.(failed('the sandbox ended while it ran the code'))
      }
      this.#worker.on('error', (error) => {
        log.error({ err: error }, 'a thread of transformations ended')
        died()
      })
      this.#worker.on('exit', died)
    })
  }

  /** Never rejects. */
  async run(job: Job): Promise<Ran> {
    const ran = new Promise<Ran>((resolve) => (this.#answer = resolve))
    await this.#ready
    const message = 'the sandbox could not be started'
    if (!this.isAlive) return { error: { message, notRun: 'broken' }, durationMs: 0 }
    this.#worker.postMessage(job, [])
    const looks = this.#watch()
    try {
      return await ran
    } finally {
      clearInterval(looks)
    }
  }

  /** Ends the thread if the job far exceeds its time: it is then in a function of QuickJS that cannot be interrupted. */
  #watch(): NodeJS.Timeout {
    let first: number | undefined
    let looks = 0
    return setInterval(() => {
      looks += 1
      const look = async (): Promise<void> => {
        const { user, system } = await this.#worker.cpuUsage()
        const used = (user + system) / 1000
        first ??= used
        if (used - first < stuckAfter && looks < mostLooks) return
        this.#answer?.(failed('the code ran too long, and could not be interrupted'))
        await this.end()
      }
      void look().catch(() => undefined)
    }, lookEvery).unref()
  }

  async end(): Promise<void> {
    this.isAlive = false
    await this.#worker.terminate()
  }
}
