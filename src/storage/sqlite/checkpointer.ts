import { statSync } from 'node:fs'
import { type Clock, sleep, systemClock } from '../../runtime/clock.ts'
import { DelayedWrites } from '../../runtime/delayed-writes.ts'
import { fewLogPages, logPageBytes } from './connection.ts'
import type { OpenFile } from './files.ts'
import { databaseThread } from './thread-client.ts'

/** Milliseconds from a write to the next task, and further ones after a failure. */
const pause = 10
const pauseAfterFailure = 1_000

/**
 * Writes the log back into the file (https://sqlite.org/wal.html#ckpt) in a thread of its own, because a commit that does it makes
 * all writers wait for the disk. The thread starts when the log is long enough for the first time. A failure loses nothing: it tries
 * again after the next write, and a commit does it when the log is very long (`mostLogPages` in connection.ts).
 */
export class Checkpointer {
  readonly #thread
  readonly #log: string
  readonly #clock: Clock
  readonly #onError: (error: Error) => void
  readonly #tasks: DelayedWrites
  #hasWrites = false
  #isFailing = false
  #isClosed = false

  /** @param onError called with the first of several failures in a row */
  constructor(file: OpenFile, onError: (error: Error) => void, clock: Clock = systemClock) {
    this.#thread = databaseThread('checkpointer', { opened: file, isBackground: true })
    this.#log = `${file.file}-wal`
    this.#onError = onError
    this.#clock = clock
    this.#tasks = new DelayedWrites(clock, pause, {
      write: () => this.#writeBack(),
      pending: () => this.#hasWrites,
    })
  }

  /** To be called after each write. */
  noteWritten(): void {
    if (this.#isClosed) return
    this.#hasWrites = true
    this.#tasks.schedule()
  }

  /** Ends the thread after its task. */
  async close(): Promise<void> {
    this.#isClosed = true
    // The log keeps what was not written back.
    await this.#thread.close().catch(() => undefined)
  }

  async #writeBack(): Promise<void> {
    this.#hasWrites = false
    if (this.#isClosed) return
    try {
      if (this.#isLogLong()) await this.#thread.call('writeBack', undefined)
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing)
        this.#onError(
          new Error('the log is not written back in the background; commits will do it', { cause: error }),
        )
      this.#isFailing = true
      await sleep(this.#clock, pauseAfterFailure)
    }
  }

  /** Whether the log may hold enough new pages. SQLite does not shorten its file, so later most of them may be old ones. */
  #isLogLong(): boolean {
    const bytes = statSync(this.#log, { throwIfNoEntry: false })?.size ?? 0
    return bytes >= fewLogPages * logPageBytes
  }
}
