import { systemClock, type Scheduler } from '../runtime/clock.ts'
import { StorageUnavailable } from './unavailable.ts'

export interface GroupCommitLimits {
  /** Commits that may run at once. */
  concurrency: number
  /**
   * Milliseconds for which a running commit delays the next one. Commits one after the other are larger and fewer, and take a
   * fifth less CPU time; but a commit that waits for a lock or a distant database must not delay the others for longer.
   */
  maxWait: number
  /**
   * Items that are enough to begin a commit. With more, all callers of a burst would wait for the same commit, and the event
   * loop would be idle meanwhile.
   */
  enough: number
  /** Items and bytes in one commit. */
  batch: number
  batchBytes: number
  /** Items and bytes that may wait; beyond that, items are refused. */
  waiting: number
  waitingBytes: number
}

const defaults: GroupCommitLimits = {
  concurrency: 1,
  maxWait: 0,
  enough: 24,
  batch: 500,
  batchBytes: 8 * 1024 * 1024,
  waiting: 20_000,
  waitingBytes: 64 * 1024 * 1024,
}

/** The event loop and its timers. */
export type GroupCommitScheduler = Pick<Scheduler, 'soon' | 'elapsed' | 'after'>

interface GroupCommitParts<Item, Result> {
  /**
   * Commits items together. Returns the results in the order of the items; a result that is an Error rejects its item. If it
   * rejects with StorageUnavailable, all or none of them are durable, and the items are not tried again. If it rejects with
   * another error, none is.
   */
  commit: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>
  /** Returns the bytes that an item takes in memory. Default 0. */
  sizeOf?: (item: Item) => number
  /** Returns the error for an item that is refused, because too many wait or because of `close`. */
  refuse?: (reason: 'overloaded' | 'stopping') => Error
  /** Called with the first error of a batch, and with the error of each item that fails alone; not with StorageUnavailable. */
  onError?: (error: unknown) => void
  limits?: Partial<GroupCommitLimits>
  /** The event loop. Default: that of the process. */
  scheduler?: GroupCommitScheduler | undefined
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly size: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Turns of the event loop for which items may be gathered. */
const mostTurns = 8

/**
 * Group commit: items that arrive in the same turns of the event loop share one transaction, because a commit costs as much as
 * many items. Items that arrive while all commits are running share the next one.
 */
export class GroupCommit<Item, Result> {
  readonly #parts: GroupCommitParts<Item, Result>
  readonly #limits: GroupCommitLimits
  readonly #scheduler: GroupCommitScheduler
  #queue: Waiting<Item, Result>[] = []
  #bytes = 0
  #commits = 0
  /** When the latest commit began. */
  #began = 0
  #scheduled = false
  #isTimed = false
  #closed = false
  #idle: (() => void) | undefined

  constructor(parts: GroupCommitParts<Item, Result>) {
    this.#parts = parts
    this.#limits = { ...defaults, ...parts.limits }
    this.#scheduler = parts.scheduler ?? systemClock
  }

  /**
   * Resolves with the item's result after the commit.
   * @throws the error of `refuse`; StorageUnavailable; what `commit` rejects with for this item alone
   */
  add(item: Item): Promise<Result> {
    const { sizeOf } = this.#parts
    const { waiting, waitingBytes } = this.#limits
    if (this.#closed) return Promise.reject(this.#refusal('stopping'))
    const size = sizeOf ? sizeOf(item) : 0
    const isFull = this.#queue.length >= waiting || this.#bytes + size > waitingBytes
    // An item that is alone is accepted whatever its size.
    if (isFull && this.#queue.length > 0) return Promise.reject(this.#refusal('overloaded'))
    this.#bytes += size
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, size, resolve, reject })
      this.#schedule()
    })
  }

  /** Items that wait for a commit to begin. */
  get waiting(): number {
    return this.#queue.length
  }

  /** The bytes of these items. */
  get waitingBytes(): number {
    return this.#bytes
  }

  /** Refuses new items, and resolves when the commits of the others have ended. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#queue.length > 0 || this.#commits > 0)
      await new Promise<void>((resolve) => (this.#idle = resolve))
  }

  #refusal(reason: 'overloaded' | 'stopping'): Error {
    return this.#parts.refuse?.(reason) ?? new Error(`the item was not committed: ${reason}`)
  }

  #schedule(): void {
    if (this.#scheduled || this.#queue.length === 0) return
    const wait = this.#untilNext()
    if (wait > 0) return this.#scheduleIn(wait)
    this.#scheduled = true
    this.#gather(0, 0)
  }

  /**
   * Begins a commit at the end of the first turn without new items. A turn of a busy event loop brings a few, so the commit waits
   * for the next few. A single item waits for one empty turn.
   */
  #gather(turns: number, before: number): void {
    this.#scheduler.soon(() => {
      const now = this.#queue.length
      if (now > before && now < this.#limits.enough && turns < mostTurns) {
        this.#gather(turns + 1, now)
        return
      }
      this.#scheduled = false
      if (this.#queue.length > 0 && this.#untilNext() === 0) void this.#run(this.#nextBatch())
      else this.#schedule()
    })
  }

  /** Sets a timer, because the running commits may take long, and no other item may come until then. */
  #scheduleIn(milliseconds: number): void {
    if (this.#isTimed || milliseconds === Infinity) return
    this.#isTimed = true
    this.#scheduler.after(milliseconds, () => {
      this.#isTimed = false
      this.#schedule()
    })
  }

  /** Milliseconds until the next commit may begin; infinite if only the end of another one permits it. */
  #untilNext(): number {
    const { concurrency, maxWait } = this.#limits
    if (this.#commits === 0) return 0
    if (this.#commits >= concurrency) return Infinity
    return Math.max(0, this.#began + maxWait - this.#scheduler.elapsed())
  }

  async #run(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    this.#commits += 1
    this.#began = this.#scheduler.elapsed()
    this.#schedule()
    await this.#commit(batch)
    this.#commits -= 1
    this.#schedule()
    if (this.#queue.length === 0 && this.#commits === 0) this.#idle?.()
  }

  /**
   * Commits a batch. An unavailable database fails for all items. Any other error may be caused by a single one, which must not
   * affect the others: halving the batch finds it in a few commits. Never rejects.
   */
  async #commit(batch: readonly Waiting<Item, Result>[], isPart = false): Promise<void> {
    let results: readonly (Result | Error)[]
    try {
      results = await this.#parts.commit(batch.map(({ item }) => item))
    } catch (error) {
      const isUnavailable = error instanceof StorageUnavailable
      if (!isUnavailable && (!isPart || batch.length === 1)) this.#parts.onError?.(error)
      if (isUnavailable || batch.length === 1) {
        for (const { reject } of batch) reject(error)
        return
      }
      const middle = Math.ceil(batch.length / 2)
      await this.#commit(batch.slice(0, middle), true)
      await this.#commit(batch.slice(middle), true)
      return
    }
    for (const [index, { resolve, reject }] of batch.entries()) {
      const result = results[index] as Result | Error
      if (result instanceof Error) reject(result)
      else resolve(result)
    }
  }

  #nextBatch(): Waiting<Item, Result>[] {
    const { batch, batchBytes } = this.#limits
    let bytes = 0
    let count = 0
    while (count < this.#queue.length && count < batch) {
      const { size } = this.#queue[count]!
      if (count > 0 && bytes + size > batchBytes) break
      bytes += size
      count += 1
    }
    const taken = this.#queue.slice(0, count)
    this.#queue = this.#queue.slice(count)
    this.#bytes -= bytes
    return taken
  }
}
