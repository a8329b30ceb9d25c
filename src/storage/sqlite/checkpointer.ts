import { Worker } from 'node:worker_threads'
import { systemClock, type Clock } from '../../clock.ts'

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
  #thread: Worker | undefined
  /** Whether a look is to come, is under way, and is to be followed by another, since there was writing meanwhile. */
  #state: 'idle' | 'waiting' | 'looking' | 'looking and again' = 'idle'
  #closed = false

  constructor(file: string, clock: Clock = systemClock) {
    this.#file = file
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

  #looked(): void {
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
    thread.on('message', () => this.#looked())
    // Nobody waits for it, and the next write begins another.
    thread.on('error', () => undefined)
    thread.on('exit', () => {
      this.#thread = undefined
      this.#state = 'idle'
    })
    thread.unref()
    return thread
  }
}
