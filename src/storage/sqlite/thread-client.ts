import { Worker } from 'node:worker_threads'
import { StorageUnavailable } from '../unavailable.ts'
import type { DatabaseTasks } from './database-thread.ts'
import type { OpenFile } from './files.ts'

interface ThreadParts {
  /** The module of the thread. It calls `serveTasks`. Each task takes one argument and returns synchronously. */
  module: URL
  /** For debuggers and profiles. */
  name: string
  workerData: unknown
  /** Whether the process may end without waiting for the thread, unless it is being closed. Default false. */
  isBackground?: boolean
}

type Argument<Task> = Task extends (argument: infer A) => unknown ? A : never
type Result<Task> = Task extends (...given: never[]) => infer R ? R : never

/** The answer to a task. */
export type TaskAnswer = { result: unknown } | { failed: TaskFailure }

/** Errors do not keep their class and their own properties between threads. */
interface TaskFailure {
  isUnavailable: boolean
  message: string
  stack: string | undefined
  /** SQLite's extended result code (https://sqlite.org/rescode.html), if the error has one. */
  errcode: number | undefined
}

interface Waiting {
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}

interface Running {
  readonly worker: Worker
  /** The tasks without an answer, in the order of their answers. */
  readonly waiting: Waiting[]
}

/**
 * Calls a thread that reads or writes SQLite files, so that neither the statements nor the wait for the disk block the event loop. The thread
 * carries out one task after the other. It starts at the first task, and again at the first task after it died.
 */
export class ThreadClient<Tasks extends { close: () => void }> {
  readonly #parts: ThreadParts
  #thread: Running | undefined
  #isClosed = false

  constructor(parts: ThreadParts) {
    this.#parts = parts
  }

  /**
   * Carries out a task in the thread.
   * @param transfer buffers that move to the thread instead of being copied
   * @throws StorageUnavailable, also when the thread dies: then it is unknown what it did; Error, with the code of SQLite, for what else a task throws
   */
  call<Name extends keyof Tasks & string>(
    name: Name,
    argument: Argument<Tasks[Name]>,
    transfer: ArrayBuffer[] = [],
  ): Promise<Result<Tasks[Name]>> {
    // It would start again.
    if (this.#isClosed)
      return Promise.reject(new StorageUnavailable(`the ${this.#parts.name} thread is closed`))
    const { worker, waiting } = (this.#thread ??= this.#start())
    return new Promise<unknown>((resolve, reject) => {
      waiting.push({ resolve, reject })
      worker.postMessage({ name, argument }, transfer)
    }) as Promise<Result<Tasks[Name]>>
  }

  /** Rejects further tasks, and ends the thread when it has done those before. */
  async close(): Promise<void> {
    this.#thread?.worker.ref()
    const closed = this.#thread && this.call('close', undefined as Argument<Tasks['close']>)
    this.#isClosed = true
    await closed
  }

  #start(): Running {
    const { module, name, workerData } = this.#parts
    const worker = new Worker(module, { workerData, name, resourceLimits: { maxYoungGenerationSizeMb: 6 } })
    const waiting: Waiting[] = []
    const died = (cause: unknown): void => {
      if (this.#thread?.worker === worker) this.#thread = undefined
      for (const { reject } of waiting.splice(0)) reject(new StorageUnavailable(cause))
    }
    worker.on('message', (answer: TaskAnswer | object) => {
      if ('failed' in answer) waiting.shift()?.reject(toError(answer.failed))
      // With --watch, Node.js itself posts the modules that a thread imports.
      else if ('result' in answer) waiting.shift()?.resolve(answer.result)
    })
    worker.on('error', died)
    worker.on('exit', (code) => died(new Error(`the ${name} thread ended with code ${code}`)))
    if (this.#parts.isBackground) worker.unref()
    return { worker, waiting }
  }
}

/** A thread with a connection of its own to the database. */
export interface DatabaseThread {
  opened: OpenFile
  /** Default false. */
  readOnly?: boolean
  /** Whether nothing waits for the thread: it gets a low priority. Default false. */
  isBackground?: boolean
}

export function databaseThread(name: string, thread: DatabaseThread): ThreadClient<DatabaseTasks> {
  const module = new URL('database-thread.ts', import.meta.url)
  const { isBackground = false } = thread
  return new ThreadClient({ module, name, workerData: thread, isBackground })
}

function toError({ isUnavailable, message, stack, errcode }: TaskFailure): Error {
  const error = new Error(message)
  if (stack !== undefined) error.stack = stack
  if (errcode !== undefined) Object.assign(error, { errcode })
  return isUnavailable ? new StorageUnavailable(error) : error
}
