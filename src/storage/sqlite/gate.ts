import { systemClock, type Scheduler } from '../../runtime/clock.ts'
import type { WritePriority } from '../database.ts'
import { holdsTheLock } from '../../runtime/call-context.ts'

/** How many times in a row a less urgent waiter is passed over. */
const mostPassedOver = 8
const priorities: readonly WritePriority[] = ['acknowledge', 'request', 'work']

/**
 * A lock with priorities: the right to write to an SQLite file within this process. Within a priority, requests are served in
 * order. SQLite's own lock is then free, unless another process has it.
 */
export class WriteGate {
  readonly #scheduler: Scheduler
  readonly #onRelease: () => void
  #held = false
  #released = 0
  #heldSince = 0
  #passedOver = 0
  readonly #waiting: Record<WritePriority, (() => void)[]> = { acknowledge: [], request: [], work: [] }

  /** @param onRelease called after each release, before the next holder */
  constructor(scheduler: Scheduler = systemClock, onRelease: () => void = () => undefined) {
    this.#scheduler = scheduler
    this.#onRelease = onRelease
  }

  /** The number of releases. */
  get released(): number {
    return this.#released
  }

  /** Whether a waiter is more urgent than background work. */
  get urgent(): boolean {
    return this.#waiting.acknowledge.length > 0 || this.#waiting.request.length > 0
  }

  /** Milliseconds for which the present holder has had it; 0 without a holder. */
  get heldFor(): number {
    return this.#held ? this.#scheduler.elapsed() - this.#heldSince : 0
  }

  /**
   * Resolves with the release function. Background work first gives the event loop a turn: SQLite is synchronous, so a worker that
   * acquires again and again would starve the sockets (measured: a tenth of the acknowledgements, with ten times the delay).
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

  /**
   * As `acquire`, but resolves with `undefined` after `milliseconds`, if given. Then it needs no check for a deadlock, and it
   * takes a free lock at once, without a turn of the event loop.
   */
  async acquireWithin(priority: WritePriority, milliseconds?: number): Promise<(() => void) | undefined> {
    if (milliseconds === undefined) return this.acquire(priority)
    if (!this.#held) return this.#acquire()
    return new Promise((resolve) => {
      const waiting = this.#waiting[priority]
      const enter = (): void => {
        cancel()
        resolve(this.#acquire())
      }
      const cancel = this.#scheduler.after(milliseconds, () => {
        waiting.splice(waiting.indexOf(enter), 1)
        resolve(undefined)
      })
      waiting.push(enter)
    })
  }

  #enter(priority: WritePriority): Promise<() => void> {
    if (!this.#held) return Promise.resolve(this.#acquire())
    return new Promise((resolve) => this.#waiting[priority].push(() => resolve(this.#acquire())))
  }

  #acquire(): () => void {
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

  /** The most urgent waiter; after many urgent ones in a row, the least urgent one. */
  #next(): (() => void) | undefined {
    const asking = priorities.filter((priority) => this.#waiting[priority].length > 0)
    if (asking.length > 1 && ++this.#passedOver > mostPassedOver) {
      this.#passedOver = 0
      return this.#waiting[asking.at(-1)!].shift()
    }
    return asking[0] && this.#waiting[asking[0]].shift()
  }
}
