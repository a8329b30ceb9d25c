import { Worker } from 'node:worker_threads'
import { Problem } from '../../errors.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'

/** How a task of a thread failed: errors do not keep their class on the way between threads. */
export interface Failed {
  as: 'unavailable' | 'overloaded' | 'error'
  message: string
  stack?: string | undefined
}

export interface ThreadAnswer {
  failed?: Failed
}

interface Waiting<Answer> {
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

export interface ThreadParts<Answer> {
  /** The module that runs as the thread. It posts one message when it has begun, and one for each task, in their order. */
  module: URL
  name: string
  workerData: unknown
  /** Called for each message, the first one included. */
  onAnswer?: (answer: Answer) => void
}

/** A thread that stores events, as seen from the service. It begins at the first task, and so does the one after one that died. */
export class ThreadClient<Task extends { kind: string }, Answer extends ThreadAnswer> {
  readonly #parts: ThreadParts<Answer>
  readonly #waiting: Waiting<Answer>[] = []
  #thread: Worker | undefined

  constructor(parts: ThreadParts<Answer>) {
    this.#parts = parts
  }

  /**
   * Gives the thread a task.
   * @throws Problem `overloaded`; StorageUnavailable, also when the thread dies: then nobody knows what it did.
   */
  ask(task: Task, transfer: ArrayBuffer[] = []): Promise<Answer> {
    this.start()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#thread!.postMessage(task, transfer)
    })
  }

  start(): void {
    this.#thread ??= this.#start()
  }

  /** Gives the thread its last task, and forgets it. */
  async end(task: Task): Promise<void> {
    if (this.#thread) await this.ask(task)
    this.#thread = undefined
  }

  #start(): Worker {
    const { module, name, workerData, onAnswer } = this.#parts
    const thread = new Worker(module, {
      workerData,
      name,
      resourceLimits: { maxYoungGenerationSizeMb: 6 },
    })
    let greeted = false
    thread.on('message', (answer: Answer) => {
      const waiting = greeted ? this.#waiting.shift() : undefined
      greeted = true
      if (answer.failed) waiting?.reject(toError(answer.failed))
      else waiting?.resolve(answer)
      onAnswer?.(answer)
    })
    thread.on('error', (error) => this.#died(thread, error))
    thread.on('exit', (code) => this.#died(thread, new Error(`the ${name} thread ended with code ${code}`)))
    return thread
  }

  #died(thread: Worker, cause: unknown): void {
    if (this.#thread !== thread) return
    this.#thread = undefined
    for (const { reject } of this.#waiting.splice(0)) reject(new StorageUnavailable(cause))
  }
}

/** What a thread says of a task that failed. */
export function describeFailure(error: unknown): Failed {
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  if (error instanceof StorageUnavailable) {
    const { cause } = error
    return { as: 'unavailable', message: cause instanceof Error ? cause.message : message }
  }
  return { as: error instanceof Problem ? 'overloaded' : 'error', message, stack }
}

function toError({ as, message, stack }: Failed): Error {
  if (as === 'overloaded') return new Problem('overloaded', { retryAfter: 1 })
  const error = new Error(message)
  if (stack !== undefined) error.stack = stack
  return as === 'unavailable' ? new StorageUnavailable(error) : error
}
