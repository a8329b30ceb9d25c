import { systemClock, type Scheduler } from '../../runtime/clock.ts'
import type { WritePriority } from '../database.ts'
import { holdsTheLock } from '../inside-transaction.ts'

/** How many times in a row a less urgent waiter is passed over. */
const patience = 8
const priorities: readonly WritePriority[] = ['acknowledge', 'request', 'work']

/**
 * Hands out the one right to write to an SQLite file within this process, the most urgent priority first, in each priority in
 * the order of asking. SQLite's own lock is then free, unless another process has it.
 */
export class WriteGate {
  readonly #scheduler: Scheduler
  readonly #onRelease: () => void
  #held = false
  #released = 0
  #heldSince = 0
  #passedOver = 0
  readonly #waiting: Record<WritePriority, (() => void)[]> = { acknowledge: [], request: [], work: [] }

  /** @param onRelease called whenever the right was given back, before somebody else has it. */
  constructor(scheduler: Scheduler = systemClock, onRelease: () => void = () => undefined) {
    this.#scheduler = scheduler
    this.#onRelease = onRelease
  }

  get free(): boolean {
    return !this.#held
  }

  /** How many times the right to write was given back. */
  get released(): number {
    return this.#released
  }

  /** Whether somebody waits whose work is more urgent than work in the background. */
  get urgent(): boolean {
    return this.#waiting.acknowledge.length > 0 || this.#waiting.request.length > 0
  }

  /** Milliseconds since the right to write was last handed out, 0 when nobody has it. */
  get heldFor(): number {
    return this.#held ? this.#scheduler.elapsed() - this.#heldSince : 0
  }

  /**
   * Resolves with the function that gives the right back. Work in the background asks behind whatever the loop has to
   * read first: SQLite answers at once, so a worker that takes the right again and again would keep the loop from its
   * sockets (measured: a tenth of the acknowledgements, at ten times the delay).
   */
  acquire(priority: WritePriority): Promise<() => void> {
    if (holdsTheLock()) {
      return Promise.reject(
        new Error(
          'a write outside tx was awaited inside the transaction that holds the write lock: use tx for it',
        ),
      )
    }
    if (priority !== 'work') return this.#enter(priority)
    return new Promise((resolve) => this.#scheduler.soon(() => resolve(this.#enter(priority))))
  }

  /** As `acquire`, but gives up after so many milliseconds, if any are given, and resolves with `undefined`. */
  async acquireWithin(priority: WritePriority, milliseconds?: number): Promise<(() => void) | undefined> {
    if (milliseconds === undefined) return this.acquire(priority)
    if (!this.#held) return this.#take()
    return new Promise((resolve) => {
      const waiting = this.#waiting[priority]
      const enter = (): void => {
        cancel()
        resolve(this.#take())
      }
      const cancel = this.#scheduler.after(milliseconds, () => {
        waiting.splice(waiting.indexOf(enter), 1)
        resolve(undefined)
      })
      waiting.push(enter)
    })
  }

  #enter(priority: WritePriority): Promise<() => void> {
    if (!this.#held) return Promise.resolve(this.#take())
    return new Promise((resolve) => this.#waiting[priority].push(() => resolve(this.#take())))
  }

  #take(): () => void {
    this.#held = true
    this.#heldSince = this.#scheduler.elapsed()
    let released = false
    return () => {
      if (released) return
      released = true
      this.#held = false
      this.#released += 1
      this.#onRelease()
      this.#next()?.()
    }
  }

  /** The most urgent waiter; but a stream of urgent ones lets the least urgent through now and then. */
  #next(): (() => void) | undefined {
    const asking = priorities.filter((priority) => this.#waiting[priority].length > 0)
    if (asking.length > 1 && ++this.#passedOver > patience) {
      this.#passedOver = 0
      return this.#waiting[asking.at(-1)!].shift()
    }
    return asking[0] && this.#waiting[asking[0]].shift()
  }
}
