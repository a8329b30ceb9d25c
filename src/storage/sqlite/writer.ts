import { Worker } from 'node:worker_threads'
import { StorageUnavailable } from '../unavailable.ts'
import type { SqlValue } from './connection.ts'
import { buffersOf, packRows } from './packed-rows.ts'
import type { PackedStatement, WriterAnswer } from './writer-thread.ts'

/** A statement, and the parameters of each time that it is run. */
export interface Repeated {
  sql: string
  rows: readonly (readonly SqlValue[])[]
}

interface Waiting {
  resolve: (written: boolean) => void
  reject: (error: unknown) => void
}

/** The writer's thread as seen from the service. It begins at the first batch, and so does the one after one that died. */
export class SqliteWriter {
  readonly #file: string
  readonly #waiting: Waiting[] = []
  #thread: Worker | undefined

  constructor(file: string) {
    this.#file = file
  }

  /**
   * Runs the statements in one transaction; false when another process holds the file's lock. The caller has the right
   * to write meanwhile.
   * @throws StorageUnavailable, also when the thread dies: then nobody knows what it did.
   */
  write(batch: readonly Repeated[]): Promise<boolean> {
    const thread = (this.#thread ??= this.#start())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      const packed = batch.map(({ sql, rows }): PackedStatement => ({ sql, rows: packRows(rows) }))
      thread.postMessage(
        packed,
        packed.flatMap(({ rows }) => buffersOf(rows)),
      )
    })
  }

  /** Ends the thread when it has done what it was given. */
  async close(): Promise<void> {
    const thread = this.#thread
    if (!thread) return
    this.#thread = undefined
    const ended = new Promise((resolve) => thread.once('exit', resolve))
    thread.postMessage('close', [])
    await ended
  }

  #start(): Worker {
    const thread = new Worker(new URL('writer-thread.ts', import.meta.url), {
      workerData: { file: this.#file },
      name: 'writer',
      resourceLimits: { maxYoungGenerationSizeMb: 6 },
    })
    thread.on('message', ({ written, failed }: WriterAnswer) => {
      const waiting = this.#waiting.shift()
      if (failed) waiting?.reject(toError(failed))
      else waiting?.resolve(written)
    })
    thread.on('error', (error) => this.#died(thread, error))
    thread.on('exit', (code) => this.#died(thread, new Error(`the writer's thread ended with code ${code}`)))
    return thread
  }

  #died(thread: Worker, cause: unknown): void {
    if (this.#thread !== thread) return
    this.#thread = undefined
    for (const { reject } of this.#waiting.splice(0)) reject(new StorageUnavailable(cause))
  }
}

function toError({ unavailable, message, stack }: NonNullable<WriterAnswer['failed']>): Error {
  const error = new Error(message)
  if (stack !== undefined) error.stack = stack
  return unavailable ? new StorageUnavailable(error) : error
}
