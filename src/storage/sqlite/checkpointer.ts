import { Worker } from 'node:worker_threads'
import { systemClock, type Clock } from '../../runtime/clock.ts'
import type { Looked } from './checkpointer-thread.ts'

/** Milliseconds between a look at the log and the next, while there is writing. */
const between = 10

/**
 * Writes the log back into the file beside the commits (https://sqlite.org/wal.html#ckpt), in a thread of its own: a
 * commit that does it has everybody wait for the disk meanwhile. What goes wrong there loses nothing, since the log
 * keeps what is not written back; the next look tries again, and commits do it when the log has become long
 * (`mostLogPages` in connection.ts).
 */
export class Checkpointer {
  readonly #file: string
  readonly #clock: Clock
  readonly #onError: (error: Error) => void
  #thread: Worker | undefined
  /** Whether a look is to come, is under way, and is to be followed by another, since there was writing meanwhile. */
  #state: 'idle' | 'waiting' | 'looking' | 'looking and again' = 'idle'
  #failing = false
  /** Also when the thread has died: then only commits do it. */
  #closed = false

  /** @param onError told of the first look of several that fails, and when the thread dies */
  constructor(file: string, onError: (error: Error) => void, clock: Clock = systemClock) {
    this.#file = file
    this.#onError = onError
    this.#clock = clock
  }

  /** To be called after each write. */
  noteWritten(): void {
    if (this.#closed) return
    if (this.#state === 'looking') this.#state = 'looking and again'
    if (this.#state !== 'idle') return
    this.#state = 'waiting'
    this.#clock.after(between, () => this.#look())
  }

  /** Ends the thread when it has done what it was given. */
  async close(): Promise<void> {
    this.#closed = true
    const thread = this.#thread
    if (!thread) return
    const ended = new Promise((resolve) => thread.once('exit', resolve))
    // It is waited for, in a process that has nothing else to do as well.
    thread.ref()
    thread.postMessage('close', [])
    await ended
  }

  #look(): void {
    if (this.#closed) return
    this.#state = 'looking'
    this.#thread ??= this.#start()
    this.#thread.postMessage('look', [])
  }

  #looked({ failed }: Looked): void {
    if (failed !== undefined && !this.#failing)
      this.#onError(new Error(`the log was not written back: ${failed}`))
    this.#failing = failed !== undefined
    const again = this.#state === 'looking and again'
    this.#state = 'idle'
    if (again) this.noteWritten()
  }

  #start(): Worker {
    const thread = new Worker(new URL('checkpointer-thread.ts', import.meta.url), {
      workerData: { file: this.#file },
      name: 'checkpointer',
      resourceLimits: { maxYoungGenerationSizeMb: 1 },
    })
    thread.on('message', (looked: Looked) => this.#looked(looked))
    thread.on('error', (error) => {
      this.#closed = true
      this.#onError(
        new Error('from now on commits write the log back: the thread has died', { cause: error }),
      )
    })
    thread.on('exit', () => (this.#thread = undefined))
    thread.unref()
    return thread
  }
}
