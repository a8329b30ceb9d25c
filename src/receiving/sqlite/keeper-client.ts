import { Worker } from 'node:worker_threads'
import { Problem } from '../../errors.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { IncomingEvent } from '../incoming.ts'
import { packBatch } from './batch-message.ts'
import type { Answer, Task } from './keeper-thread.ts'

interface Waiting {
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/** The keeper's thread as seen from the service. It begins at the first task, and so does the one after one that died. */
export class KeeperClient {
  readonly #file: string
  readonly #onSpooled: (count: number) => void
  readonly #waiting: Waiting[] = []
  #thread: Worker | undefined

  /** @param onSpooled told after each task, and once at the start, how many events lie in the spool. */
  constructor(file: string, onSpooled: (count: number) => void) {
    this.#file = file
    this.#onSpooled = onSpooled
  }

  /**
   * Resolves once the events are on the disk.
   * @throws Problem `overloaded`; StorageUnavailable, also when the thread dies: then nobody knows what it did.
   */
  async keep(events: readonly IncomingEvent[], mayWrite: boolean): Promise<void> {
    const { message, transfer } = packBatch(events)
    await this.#ask({ kind: 'keep', batch: message, mayWrite }, transfer)
  }

  /** Moves the oldest spooled events into the database; false when another process has its lock. */
  async move(): Promise<boolean> {
    return (await this.#ask({ kind: 'move' })).moved === true
  }

  /** Starts the thread, and with it the move of what an earlier process left in the spool. */
  start(): void {
    this.#thread ??= this.#start()
  }

  /** Ends the thread when it has done what it was given. */
  async close(): Promise<void> {
    if (this.#thread) await this.#ask({ kind: 'close' })
    this.#thread = undefined
  }

  #ask(task: Task, transfer: ArrayBuffer[] = []): Promise<Answer> {
    const thread = (this.#thread ??= this.#start())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      thread.postMessage(task, transfer)
    })
  }

  #start(): Worker {
    const thread = new Worker(new URL('keeper-thread.ts', import.meta.url), {
      workerData: { file: this.#file },
      name: 'inbox',
      resourceLimits: { maxYoungGenerationSizeMb: 6 },
    })
    let greeted = false
    thread.on('message', (answer: Answer) => {
      const waiting = greeted ? this.#waiting.shift() : undefined
      greeted = true
      if (answer.failed) waiting?.reject(toError(answer.failed))
      else waiting?.resolve(answer)
      this.#onSpooled(answer.spooled)
    })
    thread.on('error', (error) => this.#died(thread, error))
    thread.on('exit', (code) => this.#died(thread, new Error(`the inbox thread ended with code ${code}`)))
    return thread
  }

  #died(thread: Worker, cause: unknown): void {
    if (this.#thread !== thread) return
    this.#thread = undefined
    for (const { reject } of this.#waiting.splice(0)) reject(new StorageUnavailable(cause))
  }
}

function toError({ as, message, stack }: NonNullable<Answer['failed']>): Error {
  if (as === 'overloaded') return new Problem('overloaded', { retryAfter: 1 })
  const error = new Error(message)
  if (stack !== undefined) error.stack = stack
  return as === 'unavailable' ? new StorageUnavailable(error) : error
}
